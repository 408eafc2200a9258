/* Names and words of errno values, the same in every C library and locale. */
#include <errno.h>
#include <stdio.h>

#include "errno_names.h"
#include "fail.h"

typedef struct errno_row {
    int number;
    const char *name;
    const char *words;
} errno_row;

#define ROW(number, words)                                                                                         \
    { number, #number, words }

static const errno_row rows[] = {
    ROW(EPERM, "Operation not permitted"),
    ROW(ENOENT, "No such file or directory"),
    ROW(ESRCH, "No such process"),
    ROW(EINTR, "Interrupted system call"),
    ROW(EIO, "Input/output error"),
    ROW(ENXIO, "No such device or address"),
    ROW(E2BIG, "Argument list too long"),
    ROW(ENOEXEC, "Exec format error"),
    ROW(EBADF, "Bad file descriptor"),
    ROW(ECHILD, "No child processes"),
    ROW(EAGAIN, "Resource temporarily unavailable"),
    ROW(ENOMEM, "Cannot allocate memory"),
    ROW(EACCES, "Permission denied"),
    ROW(EFAULT, "Bad address"),
    ROW(EBUSY, "Device or resource busy"),
    ROW(EEXIST, "File exists"),
    ROW(EXDEV, "Invalid cross-device link"),
    ROW(ENODEV, "No such device"),
    ROW(ENOTDIR, "Not a directory"),
    ROW(EISDIR, "Is a directory"),
    ROW(EINVAL, "Invalid argument"),
    ROW(ENFILE, "Too many open files in system"),
    ROW(EMFILE, "Too many open files"),
    ROW(ENOTTY, "Inappropriate ioctl for device"),
    ROW(ETXTBSY, "Text file busy"),
    ROW(EFBIG, "File too large"),
    ROW(ENOSPC, "No space left on device"),
    ROW(ESPIPE, "Illegal seek"),
    ROW(EROFS, "Read-only file system"),
    ROW(EMLINK, "Too many links"),
    ROW(EPIPE, "Broken pipe"),
    ROW(EDOM, "Numerical argument out of domain"),
    ROW(ERANGE, "Numerical result out of range"),
    ROW(EDEADLK, "Resource deadlock avoided"),
    ROW(ENAMETOOLONG, "File name too long"),
    ROW(ENOLCK, "No locks available"),
    ROW(ENOSYS, "Function not implemented"),
    ROW(ENOTEMPTY, "Directory not empty"),
    ROW(ELOOP, "Too many levels of symbolic links"),
    ROW(ENODATA, "No data available"),
    ROW(ETIME, "Timer expired"),
    ROW(EPROTO, "Protocol error"),
    ROW(EBADMSG, "Bad message"),
    ROW(EOVERFLOW, "Value too large for defined data type"),
    ROW(EILSEQ, "Invalid or incomplete multibyte or wide character"),
    ROW(EOPNOTSUPP, "Operation not supported"),
    ROW(ETIMEDOUT, "Connection timed out"),
    ROW(EHOSTDOWN, "Host is down"),
    ROW(EHOSTUNREACH, "No route to host"),
    ROW(ESTALE, "Stale file handle"),
    ROW(EDQUOT, "Disk quota exceeded"),
    ROW(ECANCELED, "Operation canceled"),
#ifdef EUCLEAN
    ROW(EUCLEAN, "Structure needs cleaning"),
#endif
#ifdef EREMOTEIO
    ROW(EREMOTEIO, "Remote I/O error"),
#endif
#ifdef ENOMEDIUM
    ROW(ENOMEDIUM, "No medium found"),
#endif
#ifdef ENOKEY
    ROW(ENOKEY, "Required key not available"),
#endif
#ifdef ESHUTDOWN
    ROW(ESHUTDOWN, "Cannot send after transport endpoint shutdown"),
#endif
};

static const errno_row *find(int error_number) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number == error_number) return &rows[i];
    }
    return NULL;
}

const char *slwi_errno_name(int error_number, char buffer[16]) {
    const errno_row *row = find(error_number);
    if (row != NULL) return row->name;
    (void)snprintf(buffer, 16, "E%d", error_number);
    return buffer;
}

const char *slwi_errno_words(int error_number) {
    const errno_row *row = find(error_number);
    return row != NULL ? row->words : "unknown error";
}
