"""The cost of layouts and strategies: model, simulation, advice, forecast."""
