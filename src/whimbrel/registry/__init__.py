"""What a module is: settings records and their merge, directives, hook makers, phases, providers."""
