"""How answers look to people: values in, something for the rich console out."""
