"""The program of the application processes, which an interpreter of any virtual environment runs.

Public: start.main. Python 3.8 and later; files import each other relatively, as this package is the only one
that the interpreter gets from here.
Must not import: anything but the standard library, whimbrel included.
"""
