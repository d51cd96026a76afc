power_sources(regular.c regular_work.c regular_set.c regular_nfa.c regular_subset.c
              regular_minimise.c regular_places.c regular_product.c regular_format.c regex.c regex_parse.c
              regex_class.c regex_property.c)
power_sources(expr.c analyse.c lower.c lower_object.c runs.c state.c collect.c advance.c cursor.c
              object.c token_trie.c trie_string.c label.c mask.c matcher.c)
power_sources(schema.c schema_array.c schema_combine.c schema_decimal.c schema_document.c
              schema_emit.c schema_form.c schema_items.c schema_keywords.c schema_language.c
              schema_live.c schema_members.c schema_node.c schema_number.c schema_object.c
              schema_refs.c schema_scalars.c schema_uri.c schema_words.c)
power_sources(gbnf.c front.c)
