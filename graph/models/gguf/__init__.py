"""GGUF files (llama.cpp's format of quantized models), run on the CPU by OpenVINO GenAI."""
