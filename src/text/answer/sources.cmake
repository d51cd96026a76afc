power_sources(formats.c marks.c emit.c parser.c named.c object.c xml.c loose.c harmony.c
              json_check.c tools.c envelope.c envelope_text.c)
