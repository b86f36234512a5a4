"""The documents do what they say: commands, configurations, navigation, and the site that is built of them."""
