/* The range of numbers, judged on their text: no strtod, whose decimal point is the locale's, and no rounding. */
#include <string.h>

#include "json_scan.h"

int slwi_json_integer_fits(const char *digits, size_t size, int negative) {
    const char *most = negative ? "9223372036854775808" : "18446744073709551615";
    const size_t length = strlen(most);
    if (size != length) return size < length; /* no leading zeros: the grammar has none */
    return memcmp(digits, most, length) <= 0;
}

/* 2^1024 - 2^970, the least value that rounds to infinity: half a step above the largest double. */
static const char least_infinite[] =
    "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963"
    "3028641669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027"
    "0069855571366959622842914819860834936475292719074168444365510704342711559699508093042880177904174497792";

#define LEAST_INFINITE_DIGITS ((int64_t)sizeof least_infinite - 1)
#define EXPONENT_MAX 1000000000 /* beyond it the sum with the digits' place cannot matter any more */

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The exponent behind 'e', kept within EXPONENT_MAX. */
static int64_t read_exponent(const char *text, size_t size) {
    size_t at = 0;
    int negative = 0;
    if (at < size && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
    int64_t value = 0;
    for (; at < size; at++) {
        value = value * 10 + (text[at] - '0');
        if (value > EXPONENT_MAX) value = EXPONENT_MAX;
    }
    return negative ? -value : value;
}

/* Are the significant digits of the mantissa, seen as 0.ddd…, at least those of the limit? */
static int digits_reach_limit(const char *mantissa, size_t size) {
    size_t seen = 0;
    for (size_t i = 0; i < size && seen < (size_t)LEAST_INFINITE_DIGITS; i++) {
        if (!is_digit(mantissa[i]) || (seen == 0 && mantissa[i] == '0')) continue;
        if (mantissa[i] != least_infinite[seen]) return mantissa[i] > least_infinite[seen];
        seen++;
    }
    for (; seen < (size_t)LEAST_INFINITE_DIGITS; seen++) {
        if (least_infinite[seen] != '0') return 0;
    }
    return 1;
}

int slwi_json_double_is_finite(const char *number, size_t size) {
    size_t mantissa = 0;
    while (mantissa < size && number[mantissa] != 'e' && number[mantissa] != 'E') mantissa++;
    const int64_t exponent = mantissa < size ? read_exponent(number + mantissa + 1, size - mantissa - 1) : 0;
    /* The place of the first significant digit: the value is 0.ddd… times ten to `place`. */
    int64_t place = 0;
    int after_point = 0;
    int significant = 0;
    for (size_t i = 0; i < mantissa; i++) {
        if (number[i] == '.') after_point = 1;
        if (!is_digit(number[i])) continue;
        if (number[i] != '0') significant = 1;
        if (significant && !after_point) place++;
        if (!significant && after_point) place--;
    }
    if (!significant) return 1;
    place += exponent;
    if (place != LEAST_INFINITE_DIGITS) return place < LEAST_INFINITE_DIGITS;
    return !digits_reach_limit(number, mantissa);
}
