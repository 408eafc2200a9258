/* What the memo knows of a tree's directories: their names, each list under the stat identity of its directory. A name
 * comes or goes only with the directory's times, and stores through a mapping do not reach directories; so the rules
 * are those of files (pitfalls 6 and 7) without the lease. One answer of the memo per root. Without a memo it is what
 * reading ahead has seen of them a moment ago. For tree*.c. */
#ifndef SLWI_MEMO_TREE_H
#define SLWI_MEMO_TREE_H

#include "memo.h"
#include "tree_list.h"

typedef struct slwi_memo_tree {
    slw_memo *memo; /* NULL: what is noted is only for this walk */
    uint32_t euid;
    uint8_t boot[16]; /* the memo's; without one, zeros */
    slw_digest key;
    slw_text known;  /* the answer of an earlier walk, or of reading ahead */
    uint32_t *index; /* of its directories, by place: offsets, 0 empty */
    size_t index_size;
    size_t place;      /* of the directory taken last */
    size_t same;       /* so many bytes of the known answer are the beginning of this walk's too */
    slwi_buffer fresh; /* this walk's answer, once it is another than the known one */
    int news;          /* it says more than the known one */
    int turned;        /* nobody asks for another answer: nothing more is noted */
} slwi_memo_tree;

/* Without memory, or with a damaged answer, nothing is known: speed is all that is lost. */
void slwi_memo_tree_begin(slwi_memo_tree *tree, const slw_allocator *allocator, slw_memo *memo, const char *root);

/* Whether the names of a directory with this stat identity, looked at now, are the same as long as the identity is: its
   times are old, and nobody else can set them. */
int slwi_memo_tree_settled(const slwi_memo_tree *tree, const slwi_stat *stat, const slwi_volume *volume);

/* Both only of a settled directory. `take` puts the names on the stack, sorted as slwi_tree_list does: 1, 0 when they
   are not known, -ENOMEM. `note` remembers those from `base` on, which were listed after the stat. */
int slwi_memo_tree_take(slwi_memo_tree *tree, const slwi_stat *stat, const slwi_volume *volume, slwi_tree_stack *stack,
                        uint64_t *names_count, uint64_t *names_sum);
void slwi_memo_tree_note(slwi_memo_tree *tree, const slwi_stat *stat, const slwi_volume *volume,
                         const slwi_tree_stack *stack, size_t base, int news);

/* What was noted until now becomes what is known: between reading ahead and the walk. */
void slwi_memo_tree_turn(slwi_memo_tree *tree);

/* `whole`: nothing failed and no directory had changed at the end of the walk; only then the memo is told. */
void slwi_memo_tree_end(slwi_memo_tree *tree, int whole);

#endif
