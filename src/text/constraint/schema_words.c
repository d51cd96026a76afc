/* SPDX-License-Identifier: MIT */
/* The keywords: which are enforced, which only describe, which are always refused.
 * Input: a key of a schema. Output: its kind.
 * Threads: any. Bounds: one binary search a key.
 * What is in no list here is an annotation, as the specification says of unknown keywords. */
#include "text/constraint/schema.h"

struct word {
    const char *name;
    enum schema_word_kind kind, in_draft7;
};

/* Sorted by bytes. REFUSED: words of other vocabularies that would restrict the answer, and what
 * generation cannot keep. A word that draft-07 does not have is refused there, not ignored: the
 * author meant something by it. */
static const struct word words[] = {
    {"$anchor", WORD_PLAIN, WORD_PLAIN},
    {"$comment", WORD_NOTE, WORD_NOTE},
    {"$defs", WORD_MAP, WORD_MAP},
    {"$dynamicAnchor", WORD_PLAIN, WORD_REFUSED},
    {"$dynamicRef", WORD_PLAIN, WORD_REFUSED},
    {"$id", WORD_PLAIN, WORD_PLAIN},
    {"$recursiveAnchor", WORD_REFUSED, WORD_REFUSED},
    {"$recursiveRef", WORD_REFUSED, WORD_REFUSED},
    {"$ref", WORD_PLAIN, WORD_PLAIN},
    {"$schema", WORD_PLAIN, WORD_PLAIN},
    {"$vocabulary", WORD_NOTE, WORD_NOTE},
    {"additionalItems", WORD_SCHEMA, WORD_SCHEMA},
    {"additionalProperties", WORD_SCHEMA, WORD_SCHEMA},
    {"allOf", WORD_LIST, WORD_LIST},
    {"allRequired", WORD_REFUSED, WORD_REFUSED},
    {"anyOf", WORD_LIST, WORD_LIST},
    {"anyRequired", WORD_REFUSED, WORD_REFUSED},
    {"const", WORD_PLAIN, WORD_PLAIN},
    {"contains", WORD_SCHEMA, WORD_SCHEMA},
    {"contentEncoding", WORD_NOTE, WORD_NOTE},
    {"contentMediaType", WORD_NOTE, WORD_NOTE},
    {"contentSchema", WORD_NOTE, WORD_NOTE},
    {"deepProperties", WORD_REFUSED, WORD_REFUSED},
    {"deepRequired", WORD_REFUSED, WORD_REFUSED},
    {"default", WORD_NOTE, WORD_NOTE},
    {"definitions", WORD_MAP, WORD_MAP},
    {"dependencies", WORD_NEEDS, WORD_NEEDS},
    {"dependentRequired", WORD_PLAIN, WORD_REFUSED},
    {"dependentSchemas", WORD_MAP, WORD_REFUSED},
    {"deprecated", WORD_NOTE, WORD_NOTE},
    {"description", WORD_NOTE, WORD_NOTE},
    {"disallow", WORD_REFUSED, WORD_REFUSED},
    {"divisibleBy", WORD_REFUSED, WORD_REFUSED},
    {"else", WORD_SCHEMA, WORD_SCHEMA},
    {"enum", WORD_PLAIN, WORD_PLAIN},
    {"examples", WORD_NOTE, WORD_NOTE},
    {"exclusiveMaximum", WORD_PLAIN, WORD_PLAIN},
    {"exclusiveMinimum", WORD_PLAIN, WORD_PLAIN},
    {"extends", WORD_REFUSED, WORD_REFUSED},
    {"format", WORD_PLAIN, WORD_PLAIN},
    {"formatExclusiveMaximum", WORD_REFUSED, WORD_REFUSED},
    {"formatExclusiveMinimum", WORD_REFUSED, WORD_REFUSED},
    {"formatMaximum", WORD_REFUSED, WORD_REFUSED},
    {"formatMinimum", WORD_REFUSED, WORD_REFUSED},
    {"if", WORD_SCHEMA, WORD_SCHEMA},
    {"instanceof", WORD_REFUSED, WORD_REFUSED},
    {"items", WORD_ITEMS, WORD_ITEMS},
    {"maxContains", WORD_PLAIN, WORD_REFUSED},
    {"maxItems", WORD_PLAIN, WORD_PLAIN},
    {"maxLength", WORD_PLAIN, WORD_PLAIN},
    {"maxProperties", WORD_PLAIN, WORD_PLAIN},
    {"maximum", WORD_PLAIN, WORD_PLAIN},
    {"minContains", WORD_PLAIN, WORD_REFUSED},
    {"minItems", WORD_PLAIN, WORD_PLAIN},
    {"minLength", WORD_PLAIN, WORD_PLAIN},
    {"minProperties", WORD_PLAIN, WORD_PLAIN},
    {"minimum", WORD_PLAIN, WORD_PLAIN},
    {"multipleOf", WORD_PLAIN, WORD_PLAIN},
    {"not", WORD_SCHEMA, WORD_SCHEMA},
    {"nullable", WORD_PLAIN, WORD_PLAIN},
    {"oneOf", WORD_LIST, WORD_LIST},
    {"oneRequired", WORD_REFUSED, WORD_REFUSED},
    {"pattern", WORD_PLAIN, WORD_PLAIN},
    {"patternProperties", WORD_MAP, WORD_MAP},
    {"patternRequired", WORD_REFUSED, WORD_REFUSED},
    {"prefixItems", WORD_LIST, WORD_REFUSED},
    {"prohibited", WORD_REFUSED, WORD_REFUSED},
    {"properties", WORD_MAP, WORD_MAP},
    {"propertyDependencies", WORD_REFUSED, WORD_REFUSED},
    {"propertyNames", WORD_SCHEMA, WORD_SCHEMA},
    {"readOnly", WORD_NOTE, WORD_NOTE},
    {"regexp", WORD_REFUSED, WORD_REFUSED},
    {"required", WORD_PLAIN, WORD_PLAIN},
    {"then", WORD_SCHEMA, WORD_SCHEMA},
    {"title", WORD_NOTE, WORD_NOTE},
    {"type", WORD_PLAIN, WORD_PLAIN},
    {"typeof", WORD_REFUSED, WORD_REFUSED},
    {"unevaluatedItems", WORD_SCHEMA, WORD_REFUSED},
    {"unevaluatedProperties", WORD_SCHEMA, WORD_REFUSED},
    {"uniqueItemProperties", WORD_REFUSED, WORD_REFUSED},
    {"uniqueItems", WORD_PLAIN, WORD_PLAIN},
    {"writeOnly", WORD_NOTE, WORD_NOTE},
};

enum schema_word_kind power_schema_word(struct power_text key, bool draft7) {
    size_t low = 0, high = sizeof words / sizeof words[0];
    while (low < high) {
        size_t middle = (low + high) / 2, length = strlen(words[middle].name);
        size_t n = length < key.length ? length : key.length;
        int order = n ? memcmp(words[middle].name, key.bytes, n) : 0;
        if (order == 0) order = (length > key.length) - (length < key.length);
        if (order == 0) return draft7 ? words[middle].in_draft7 : words[middle].kind;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return WORD_UNKNOWN;
}

/* Words that name things and restrict nothing by themselves. */
static bool only_names(struct power_text key) {
    static const char *const names[] = {"$anchor", "$dynamicAnchor", "$id",
                                        "$schema", "$defs",          "definitions"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (power_text_equal(key, power_text_of(names[i]))) return true;
    return false;
}

bool power_schema_is_free(const struct schema *s, uint32_t at) {
    if (s->values[at].type == SCHEMA_TRUE) return true;
    if (s->values[at].type != SCHEMA_OBJECT) return false;
    for (uint32_t c = s->values[at].first; c != SCHEMA_NONE; c = s->values[c].next) {
        enum schema_word_kind kind = power_schema_word(s->values[c].key, s->draft7);
        if (kind != WORD_UNKNOWN && kind != WORD_NOTE && !only_names(s->values[c].key))
            return false;
    }
    return true;
}

/* A refused word that says nothing, such as "uniqueItems": false, is let through elsewhere. */
bool power_schema_check_words(struct schema *s, uint32_t at) {
    for (uint32_t c = s->values[at].first; c != SCHEMA_NONE; c = s->values[c].next) {
        const struct schema_value *word = &s->values[c];
        if (power_schema_word(word->key, s->draft7) == WORD_REFUSED) {
            bool later = power_schema_word(word->key, false) != WORD_REFUSED;
            return power_schema_fail(s, POWER_UNSUPPORTED, c,
                                     later ? "is no keyword of draft-07" : "cannot be enforced");
        }
        if (power_text_equal(word->key, POWER_TEXT("nullable"))) {
            if (word->type == SCHEMA_TRUE)
                return power_schema_fail(s, POWER_UNSUPPORTED, c,
                                         "is OpenAPI's: put \"null\" into \"type\"");
            if (word->type != SCHEMA_FALSE)
                return power_schema_fail(s, POWER_INVALID, c, "must be true or false");
        }
    }
    return true;
}
