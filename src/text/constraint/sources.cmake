power_sources(regular.c regular_work.c regular_set.c regular_nfa.c regular_subset.c
              regular_minimise.c regular_places.c regular_product.c regular_format.c regex.c regex_parse.c
              regex_class.c regex_property.c)
