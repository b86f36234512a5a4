"""The documents do what they say: their commands, configurations and navigation, and the site of them."""
