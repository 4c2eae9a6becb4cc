"""What layouts and strategies cost: model, simulation, advice, forecast."""
