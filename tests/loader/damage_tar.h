/* SPDX-License-Identifier: Apache-2.0 */
/* Shards with a damaged sample, most often 07x: each writes the shard b.tar at path, behind the damaged one a
 * good sample; or, where there is no room for it, that one into d.tar beside. a.tar has the other eleven good
 * ones. */
#ifndef DAMAGE_TAR_H
#define DAMAGE_TAR_H

void tar_build(const char *folder); /* a.tar */
void tar_clear(const char *folder); /* all but a.tar */

/* Walking. */
void tar_cut_in_data(const char *path);
void tar_cut_in_header(const char *path);
void tar_cut_in_padding(const char *path);
void tar_cut_behind_member(const char *path); /* of a pack: it would have a mark there */
void tar_bad_checksum(const char *path);
void tar_negative_size(const char *path);
void tar_absurd_size(const char *path);
void tar_size_of_words(const char *path);
void tar_hole(const char *path);
void tar_garbage_behind(const char *path);
void tar_empty(const char *path);
void tar_compressed(const char *path);
void tar_text_file(const char *path);

/* Kinds of members. */
void tar_symbolic_link(const char *path);
void tar_hard_link(const char *path);
void tar_device(const char *path);
void tar_pipe(const char *path);
void tar_sparse(const char *path);
void tar_sparse_pax(const char *path);

/* Headers about members, and names. */
void tar_pax_bomb(const char *path);
void tar_pax_malformed(const char *path);
void tar_pax_size(const char *path);
void tar_long_name(const char *path);
void tar_not_utf8(const char *path);
void tar_upwards(const char *path);
void tar_wrong_escape(const char *path);

/* Fields. */
void tar_twice(const char *path);
void tar_two_images(const char *path);
void tar_interleaved(const char *path);
void tar_without_image(const char *path);
void tar_class_of_words(const char *path);
void tar_without_class(const char *path);
void tar_empty_image(const char *path);
void tar_cut_image(const char *path);
void tar_large_image(const char *path);

/* Indexes. */
void tar_stale_index(const char *path);
void tar_damaged_index(const char *path);
void tar_foreign_index(const char *path);

/* Behind the back of a source that is open. */
void tar_good(const char *path);
void tar_replace(const char *path);
void tar_shorten(const char *path);
void tar_overwrite(const char *path);

#endif
