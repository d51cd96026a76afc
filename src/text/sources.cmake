power_sources(json.c utf8.c split.c split_class.c split_words.c split_digits.c split_ranges.c split_table.c words.c bpe.c spm.c specials.c encode.c
              encode_work.c charset.c charsmap.c trie.c normal_steps.c pretokenize.c wordpiece.c unigram.c
              spm_normalise.c vocab_steps.c
              normalise.c pieces.c vocab.c vocab_gguf.c vocab_gguf_keys.c vocab_json.c vocab_json_parts.c vocab_json_model.c vocab_json_apply.c
              vocab_config.c vocab_sentencepiece.c detokenize.c
              template.c template_chat.c jinja_lexer.c jinja_parser.c jinja_scope.c jinja_expression.c jinja_value.c
              jinja_origin.c jinja_big.c jinja_number.c jinja_percent.c jinja_strformat.c
              jinja_attributes.c jinja_case.c jinja_predicates.c jinja_filters_page.c
              jinja_print.c jinja_json.c jinja_eval.c jinja_arithmetic.c jinja_exec.c jinja_call.c
              jinja_text.c jinja_methods.c jinja_format.c jinja_date.c jinja_filters.c jinja_filters_text.c
              jinja_filters_seq.c jinja_tests.c)
