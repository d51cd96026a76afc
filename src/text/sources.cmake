power_sources(json.c utf8.c split.c split_class.c split_table.c bpe.c spm.c specials.c encode.c
              normalise.c pieces.c vocab.c vocab_gguf.c vocab_json.c vocab_json_parts.c vocab_config.c
              vocab_sentencepiece.c
              detokenize.c)
