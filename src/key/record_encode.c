/* A record to its text and its digest: one walk, an explicit stack. */
#include "fail.h"
#include "record_node.h"
#include "record_writer.h"

typedef struct frame {
    const slw_record *container;
    size_t next; /* of its items */
} frame;

static const char *container_name(const slw_record *record) {
    if (record->kind == SLWI_RECORD_LIST) return "list";
    return record->kind == SLWI_RECORD_TUPLE ? "tuple" : "dict";
}

static void write_leaf(slwi_record_writer *writer, const slw_record *leaf) {
    switch (leaf->kind) {
    case SLWI_RECORD_NONE: slwi_record_put_none(writer); break;
    case SLWI_RECORD_BOOL: slwi_record_put_bool(writer, leaf->as.bits != 0); break;
    case SLWI_RECORD_INT: slwi_record_put_decimal(writer, slwi_record_text(leaf)); break;
    case SLWI_RECORD_FLOAT: slwi_record_put_float_bits(writer, leaf->as.bits); break;
    case SLWI_RECORD_STRING: slwi_record_put_string(writer, slwi_record_text(leaf)); break;
    default: slwi_record_put_bytes(writer, slwi_record_text(leaf)); break;
    }
}

/* Before and after the item `next` of a container, and the item itself where it is a leaf; a container is returned. */
static const slw_record *step(slwi_record_writer *writer, frame *top) {
    const slw_record *container = top->container;
    slw_record *const *items = container->as.list.items;
    if (container->kind == SLWI_RECORD_DICT) {
        if (top->next != 0) slwi_record_pair_close(writer);
        if (top->next != 0 && top->next < container->as.list.count) slwi_record_comma(writer);
        if (top->next < container->as.list.count) {
            slwi_record_pair_open(writer, slwi_record_text(items[top->next]));
            top->next++;
        }
    } else if (top->next != 0 && top->next < container->as.list.count) {
        slwi_record_comma(writer);
    }
    if (top->next >= container->as.list.count) return NULL;
    return items[top->next++];
}

/* 0: the limit on encoded bytes is passed. */
static int write_record(slwi_record_writer *writer, const slw_record *root) {
    frame stack[SLW_LIMIT_RECORD_DEPTH];
    size_t depth = 0;
    const slw_record *node = root;
    while (node != NULL || depth != 0) {
        if (node != NULL && slwi_record_is_container(node)) {
            slwi_record_open(writer, container_name(node));
            stack[depth++] = (frame){node, 0};
        } else if (node != NULL) {
            write_leaf(writer, node);
            if (depth == 0) break;
        }
        if (writer->size_bytes > SLW_LIMIT_RECORD_BYTES) return 0;
        node = step(writer, &stack[depth - 1]);
        if (node == NULL) {
            slwi_record_close(writer);
            depth--;
            if (depth == 0) break;
        }
    }
    return writer->size_bytes < SLW_LIMIT_RECORD_BYTES; /* one more to come: the end of the envelope */
}

static slw_code too_long(const slwi_record_writer *writer, slw_error *err) {
    slwi_error_amount(err, "encoded record", writer->size_bytes, SLW_LIMIT_RECORD_BYTES, "bytes");
    return slwi_fail(err, SLW_E_LIMIT, "LIMIT", "the encoded record is too long");
}

static slw_code check(const slw_record *record, const char **domain, const void *out, slw_error *err) {
    slwi_error_reset(err);
    if (record == NULL || record->tag != SLWI_RECORD_TAG || out == NULL) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_RECORD", "no record, or no place for the result");
    }
    if (*domain == NULL) *domain = SLW_DOMAIN_DEFAULT;
    if (!slwi_domain_ok(*domain)) {
        return slwi_fail(err, SLW_E_USAGE, "BAD_DOMAIN", "a domain is 1 to 64 characters of [a-z0-9._-]");
    }
    return SLW_OK;
}

slw_code slw_record_encode(const slw_record *record, const char *domain, slw_text *out, slw_error *err) {
    slwi_record_writer writer;
    slwi_buffer text;
    slw_code rc = check(record, &domain, out, err);
    if (rc != SLW_OK) return rc;
    slwi_buffer_init(&text, &record->allocator, SLW_LIMIT_RECORD_BYTES);
    slwi_record_writer_buffer(&writer, &text, domain);
    if (write_record(&writer, record)) {
        slwi_record_writer_end(&writer);
        rc = slwi_buffer_take(&text, out, err);
    } else {
        rc = too_long(&writer, err);
    }
    slwi_buffer_free(&text);
    return rc;
}

slw_code slw_record_digest(const slw_record *record, const char *domain, slw_digest *out, slw_error *err) {
    slwi_record_writer writer;
    slwi_sha256_ctx hash;
    slw_code rc = check(record, &domain, out, err);
    if (rc != SLW_OK) return rc;
    slwi_record_writer_hash(&writer, &hash, domain);
    if (!write_record(&writer, record)) return too_long(&writer, err);
    slwi_record_writer_end(&writer);
    slwi_sha256_final(&hash, out);
    return SLW_OK;
}
