/* The words beside slwi_errno_name. */
#ifndef SLWI_ERRNO_NAMES_H
#define SLWI_ERRNO_NAMES_H

const char *slwi_errno_words(int error_number); /* static; "unknown error" for one we do not know */

#endif
