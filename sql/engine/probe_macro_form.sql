({arguments}) AS TABLE SELECT * FROM live WHERE {condition}
