/* SPDX-License-Identifier: MIT */
/* Job: Unicode properties in regular expressions: general categories and a few others.
 * Input: what stands between the braces of \p{...}. Output: the set of its code points.
 * Threads: one an operation. Bounds: one walk over all code points an expression; equal classes
 * are made once. */
#include <utf8proc.h>

#include "text/constraint/regex.h"

struct run { /* code points first .. the next run's first - 1 */
    uint32_t first;
    uint32_t category;
};

struct regex_class {
    uint32_t mask;
    bool negated;
    struct regular_set set;
};

#define BIT(category) (1u << UTF8PROC_CATEGORY_##category)
#define LC (BIT(LU) | BIT(LL) | BIT(LT))
#define L (LC | BIT(LM) | BIT(LO))
#define M (BIT(MN) | BIT(MC) | BIT(ME))
#define N (BIT(ND) | BIT(NL) | BIT(NO))
#define P (BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO))
#define S (BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO))
#define Z (BIT(ZS) | BIT(ZL) | BIT(ZP))
#define C (BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO) | BIT(CN))

/* Names and aliases of PropertyValueAliases.txt (gc), and three that ECMA-262 adds. */
static const struct {
    const char *name;
    uint32_t mask;
} CATEGORIES[] = {
    {"L", L},
    {"Letter", L},
    {"LC", LC},
    {"Cased_Letter", LC},
    {"Lu", BIT(LU)},
    {"Uppercase_Letter", BIT(LU)},
    {"Ll", BIT(LL)},
    {"Lowercase_Letter", BIT(LL)},
    {"Lt", BIT(LT)},
    {"Titlecase_Letter", BIT(LT)},
    {"Lm", BIT(LM)},
    {"Modifier_Letter", BIT(LM)},
    {"Lo", BIT(LO)},
    {"Other_Letter", BIT(LO)},
    {"M", M},
    {"Mark", M},
    {"Combining_Mark", M},
    {"Mn", BIT(MN)},
    {"Nonspacing_Mark", BIT(MN)},
    {"Mc", BIT(MC)},
    {"Spacing_Mark", BIT(MC)},
    {"Me", BIT(ME)},
    {"Enclosing_Mark", BIT(ME)},
    {"N", N},
    {"Number", N},
    {"Nd", BIT(ND)},
    {"Decimal_Number", BIT(ND)},
    {"digit", BIT(ND)},
    {"Nl", BIT(NL)},
    {"Letter_Number", BIT(NL)},
    {"No", BIT(NO)},
    {"Other_Number", BIT(NO)},
    {"P", P},
    {"Punctuation", P},
    {"punct", P},
    {"Pc", BIT(PC)},
    {"Connector_Punctuation", BIT(PC)},
    {"Pd", BIT(PD)},
    {"Dash_Punctuation", BIT(PD)},
    {"Ps", BIT(PS)},
    {"Open_Punctuation", BIT(PS)},
    {"Pe", BIT(PE)},
    {"Close_Punctuation", BIT(PE)},
    {"Pi", BIT(PI)},
    {"Initial_Punctuation", BIT(PI)},
    {"Pf", BIT(PF)},
    {"Final_Punctuation", BIT(PF)},
    {"Po", BIT(PO)},
    {"Other_Punctuation", BIT(PO)},
    {"S", S},
    {"Symbol", S},
    {"Sm", BIT(SM)},
    {"Math_Symbol", BIT(SM)},
    {"Sc", BIT(SC)},
    {"Currency_Symbol", BIT(SC)},
    {"Sk", BIT(SK)},
    {"Modifier_Symbol", BIT(SK)},
    {"So", BIT(SO)},
    {"Other_Symbol", BIT(SO)},
    {"Z", Z},
    {"Separator", Z},
    {"Zs", BIT(ZS)},
    {"Space_Separator", BIT(ZS)},
    {"Zl", BIT(ZL)},
    {"Line_Separator", BIT(ZL)},
    {"Zp", BIT(ZP)},
    {"Paragraph_Separator", BIT(ZP)},
    {"C", C},
    {"Other", C},
    {"Cc", BIT(CC)},
    {"Control", BIT(CC)},
    {"cntrl", BIT(CC)},
    {"Cf", BIT(CF)},
    {"Format", BIT(CF)},
    {"Cs", BIT(CS)},
    {"Surrogate", BIT(CS)},
    {"Co", BIT(CO)},
    {"Private_Use", BIT(CO)},
    {"Cn", BIT(CN)},
    {"Unassigned", BIT(CN)},
    {"Any", L | M | N | P | S | Z | C},
    {"Assigned", (L | M | N | P | S | Z | C) & ~BIT(CN)},
};

static bool list_runs(struct regex *r) {
    struct regular_list *runs = &r->classes.runs;
    uint32_t last = REGULAR_NONE;
    if (runs->count > 0) return true;
    for (uint32_t code = 0; code <= REGULAR_LAST_CODE; code++) {
        uint32_t category = (uint32_t)utf8proc_category((utf8proc_int32_t)code);
        if (category == last) continue;
        if (!power_regular_room(r->w, runs, 1, sizeof(struct run))) return false;
        ((struct run *)runs->items)[runs->count++] = (struct run){code, category};
        last = category;
    }
    return true;
}

/* The class of a mask, made once. NULL after a fault. */
static const struct regular_set *class_of(struct regex *r, uint32_t mask, bool negated) {
    struct regular_list *shared = &r->classes.shared;
    const struct regex_class *known = shared->items;
    for (size_t i = 0; i < shared->count; i++) {
        if (known[i].mask == mask && known[i].negated == negated) return &known[i].set;
    }
    struct regex_class made = {mask, negated, {{0}}};
    if (!list_runs(r)) return NULL;
    const struct run *runs = r->classes.runs.items;
    size_t n = r->classes.runs.count;
    for (size_t i = 0; i < n; i++) {
        uint32_t last = i + 1 < n ? runs[i + 1].first - 1 : REGULAR_LAST_CODE;
        bool in = (mask >> runs[i].category & 1) != 0;
        if (in != negated && !power_regular_set_add(r->w, &made.set, runs[i].first, last))
            return NULL;
    }
    if (!power_regular_set_normalise(r->w, &made.set)) return NULL;
    if (!power_regular_room(r->w, shared, 1, sizeof made)) return NULL;
    struct regex_class *place = (struct regex_class *)shared->items + shared->count++;
    *place = made;
    return &place->set;
}

static bool add_set(struct regex *r, struct regular_set *to, const struct regular_set *from) {
    if (!from) return false;
    if (to->ranges.count == 0) { /* shared until something is added */
        *to = *from;
        to->ranges.capacity = to->ranges.count;
        return true;
    }
    for (size_t i = 0; i < from->ranges.count; i++) {
        struct power_regular_edge range = ((struct power_regular_edge *)from->ranges.items)[i];
        if (!power_regular_set_add(r->w, to, range.first, range.last)) return false;
    }
    return true;
}

static struct power_text without(struct power_text text, const char *head) {
    size_t n = strlen(head);
    if (text.length > n && memcmp(text.bytes, head, n) == 0)
        return (struct power_text){text.bytes + n, text.length - n};
    return text;
}

bool power_regex_property(struct regex *r, struct power_text name, bool negated, size_t at,
                          struct regular_set *set) {
    struct power_text value = without(without(name, "General_Category="), "gc=");
    for (size_t i = 0; i < sizeof CATEGORIES / sizeof *CATEGORIES; i++) {
        if (power_text_equal(value, power_text_of(CATEGORIES[i].name)))
            return add_set(r, set, class_of(r, CATEGORIES[i].mask, negated));
    }
    if (power_text_equal(name, POWER_TEXT("ASCII"))) {
        uint32_t first = negated ? 0x80 : 0, last = negated ? REGULAR_LAST_CODE : 0x7F;
        return power_regular_set_add(r->w, set, first, last) &&
               power_regular_set_normalise(r->w, set);
    }
    return power_regex_fault(r, POWER_UNSUPPORTED, at, "property \"%s\" is not supported",
                             power_quote(name.bytes, name.length).text);
}
