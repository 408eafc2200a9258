#include <slipway/slipway.h>
#include <stdio.h>

int main(void) {
    return puts(slw_version()) < 0;
}
