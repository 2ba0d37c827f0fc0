"""Tests on a real GPU backend of llama.cpp: Vulkan, with any driver (`make test-vulkan`)."""
