"""Composing an image from layers of others, and the layers in which two images differ.

compose   the layers of one image, some of them taken from others; the manifest; images kept
layers/   what each layer is, how it goes from one image into another, where two images differ
"""
