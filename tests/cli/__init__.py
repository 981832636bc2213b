"""Tests of the doors; a package, so that its conftest is not taken for the other one."""
