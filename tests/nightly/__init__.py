"""All long tests in a given time, with one page at the end: `make nightly TIME=minutes`."""
