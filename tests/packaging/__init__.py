"""The distributions as a user gets them: wheel, sdist, container image, system packages."""
