"""Composing an image from layers of others, and the layers in which two images differ.

compose       the layers of one image, some of them taken from others; the manifest
layers/       what each layer is, and how it goes from one image into another
differences   the layers in which two images differ, and the parts inside a layer
composed      images that were composed are kept
"""
