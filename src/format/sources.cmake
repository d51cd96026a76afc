power_sources(gguf.c gguf_set.c input.c json_scan.c meta.c safetensors.c safetensors_set.c source.c)
