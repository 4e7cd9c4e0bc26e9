"""Faults on purpose: does anything acknowledged get lost, doubled or other dice?"""
