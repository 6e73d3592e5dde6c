/* SPDX-License-Identifier: Apache-2.0 */
/* Which column of a list is the file, the label, the value, the mask and the split: by data.columns, or by
 * the names people use, compared without case, blanks and '_'. Where two readings are possible the list is
 * refused with both named; every column without a role is told as not used. One thread, while a source opens.
 */
#include "source/list/list_columns.h"

#include "core/logger.h"
#include "core/hash.h"
#include "core/number.h"
#include "source/extension.h"
#include "source/part_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Preferred first: a list with filename and id is read by filename. */
static const char *const file_names[] = {
    "file",    "path",    "image",      "filename", "filepath",      "imagepath", "imagefile",
    "imgpath", "imgfile", "imagename",  "imgname",  "imagefilename", "img",       "photo",
    "picture", "imageid", "imageindex", "imgid",    "photoid",       "idcode",    "filepaths",
    "fname",   "name",    "id",         "url",      "imageurl",      NULL};
static const char *const label_names[] = {
    "label",   "class",      "category",   "species",    "classname",  "labelname",     "categoryname",
    "classid", "labelid",    "categoryid", "breed",      "diagnosis",  "groundtruth",   "labels",
    "classes", "categories", "tags",       "tag",        "classlabel", "speciesname",   "breedname",
    "tagname", "dx",         "imagelabel", "imageclass", "truelabel",  "findinglabels", NULL};
static const char *const mixed_names[] = {"target", "y", NULL}; /* a label if it is not a number */
static const char *const value_names[] = {"value", "target", NULL};
static const char *const weak_value_names[] = {"score", "age", "price",
                                               "angle", "y",   NULL}; /* not beside a label */
static const char *const mask_names[] = {
    "mask",         "maskpath",         "maskfile", "maskname", "maskfilename",
    "segmentation", "segmentationpath", "segpath",  NULL};

/* --- names ---------------------------------------------------------------------------------------------- */

bool stk__column_named(const char *name, const char *plain)
{
    for (; *name; name++) {
        if (strchr(" _-.", *name)) continue;
        if (tolower((unsigned char)*name) != *plain++) return false;
    }
    return *plain == '\0';
}

static bool is_among(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (stk__column_named(name, *names)) return true;
    return false;
}

stk_status stk__columns_refuse(const stk__columns *columns, size_t column, stk_error *error,
                               const char *format, ...)
{
    char why[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    stk__fail(error, STK_ERROR_DATA, "%s", why);
    stk__error_place(error, "%s:%llu:%zu", columns->path, (unsigned long long)columns->line, column + 1);
    stk__error_hint(error,
                    "columns: file, then label or value, mask, split, and points as NAME_x and NAME_y; "
                    "other names: data.columns='file=NAME,label=NAME'");
    return STK_ERROR_DATA;
}

/* --- columns -------------------------------------------------------------------------------------------- */

stk_status stk__columns_add(stk__columns *columns, const char *name, size_t length, stk_error *error)
{
    stk__list_column column = {0};
    STK__TRY(stk__buffer_text(&columns->names, name, length, &column.name, error));
    return stk__buffer_append(&columns->list, &column, sizeof column, error);
}

/* "16 0" or "2;5": integers with something between them. */
bool stk__label_is_several(const char *text, size_t length)
{
    size_t numbers = 0;
    for (size_t at = 0; at < length; numbers++) {
        const size_t start = at;
        while (at < length && text[at] >= '0' && text[at] <= '9')
            at++;
        if (at == start) return false;
        while (at < length && strchr(" ;|,", text[at]))
            at++;
    }
    return numbers > 1;
}

/* What pandas, NumPy, R and databases write for nothing. */
static bool is_missing(const char *cell, size_t length)
{
    static const char *const words[] = {"nan", "na", "n/a", "none", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && strncasecmp(cell, words[i], length) == 0) return true;
    return false;
}

/* "$1,000", "-1 200,50 €", "45 %": digits, and nothing but what stands around them. */
static bool is_amount(const char *cell, size_t length)
{
    static const char *const around[] = {"$", "€", "£", "¥", "USD", "EUR", "%", ",", ".", "'", " "};
    bool digits = false;
    if (*cell == '-' || *cell == '+') cell++, length--;
    while (length) {
        size_t used = *cell >= '0' && *cell <= '9';
        digits |= used;
        for (size_t i = 0; !used && i < sizeof around / sizeof around[0]; i++) {
            const size_t size = strlen(around[i]);
            if (size <= length && memcmp(cell, around[i], size) == 0) used = size;
        }
        if (!used) return false;
        cell += used;
        length -= used;
    }
    return digits;
}

static void note_text(stk__list_column *column, const char *cell, size_t length)
{
    const uint64_t hash = stk__digest_of(cell, length).low;
    column->pictures += stk__extension_is_picture(cell, length);
    for (uint32_t i = 0; i < column->texts; i++)
        if (column->text_hash[i] == hash) {
            column->repeated++;
            return;
        }
    if (column->texts < STK_COLUMN_TEXTS) column->text_hash[column->texts++] = hash;
}

void stk__columns_look(stk__columns *columns, size_t index, const char *cell, size_t length)
{
    stk__list_column *column = stk__columns_at(columns, index);
    stk__column_trim(&cell, &length);
    if (length == 0) return;
    double number;
    column->cells++;
    const bool several = stk__label_is_several(cell, length);
    column->several |= several;
    column->pixels += several && length > 64;
    column->urls += memmem(cell, length, "://", 3) != NULL;
    column->nested |= *cell == '[' || *cell == '{';
    column->parts += stk__part_of_word(cell, length) != 0;
    column->part_set |= stk__part_of_word(cell, length);
    column->booleans += stk__flag_named(cell, length) >= 0;
    column->missing += is_missing(cell, length);
    int flag; /* true and false of JSON may be anything */
    if (stk__flag_read(cell, length, &flag) && !(columns->json && tolower((unsigned char)*cell) >= 'f')) {
        column->flags++;
        column->raised += flag == 1;
        column->lowered += flag == -1;
    }
    if (!stk__number_real(cell, length, &number)) {
        note_text(column, cell, length);
        column->amounts += is_amount(cell, length);
        return;
    }
    column->numbers++;
    if (number < -9e15 || number > 9e15 || number != number) return;
    if (number == (double)(int64_t)number)
        column->wholes++;
    else
        column->decimals++;
}

int stk__columns_find(const stk__columns *columns, stk__role role)
{
    for (size_t i = 0; i < stk__columns_count(columns); i++)
        if (stk__columns_at(columns, i)->role == role) return (int)i;
    return -1;
}

void stk__columns_fini(stk__columns *columns)
{
    stk__buffer_fini(&columns->names);
    stk__buffer_fini(&columns->list);
    stk__buffer_fini(&columns->pairs);
    stk__buffer_fini(&columns->point_texts);
}

void stk__columns_tell_unused(const stk__columns *columns, stk__source_info *info, uint64_t rows)
{
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        if (stk__columns_at(columns, i)->role != STK_ROLE_NONE) continue;
        char what[96];
        const char *name = stk__columns_name(columns, i);
        if (*name)
            snprintf(what, sizeof what, "column '%.60s' of the list: not used", name);
        else
            snprintf(what, sizeof what, "column %zu of the list, without a name: not used", i + 1);
        stk__log(STK_LOG_INFO, "%s ('%s')", what, columns->path);
        stk__left_out_add(info, what, rows, "");
    }
}

/* --- roles ---------------------------------------------------------------------------------------------- */

static bool is_free(const stk__columns *columns, size_t index)
{
    return stk__columns_at(columns, index)->role == STK_ROLE_NONE;
}

static int find_among(const stk__columns *columns, const char *const *names)
{
    for (; *names; names++)
        for (size_t i = 0; i < stk__columns_count(columns); i++)
            if (is_free(columns, i) && stk__column_named(stk__columns_name(columns, i), *names))
                return (int)i;
    return -1;
}

int stk__columns_file(const stk__columns *columns)
{
    return find_among(columns, file_names);
}

static stk_status check_duplicates(const stk__columns *columns, stk_error *error)
{
    for (size_t i = 1; i < stk__columns_count(columns); i++) {
        const char *name = stk__columns_name(columns, i);
        for (size_t before = 0; *name && before < i; before++)
            if (strcasecmp(name, stk__columns_name(columns, before)) == 0)
                return stk__columns_refuse(
                    columns, i, error,
                    "the header of the list cannot be used: column %zu '%.80s' is a duplicate", i + 1, name);
    }
    return STK_OK;
}

static stk_status choose_file(stk__columns *columns, stk_error *error)
{
    int file = stk__columns_find(columns, STK_ROLE_FILE);
    if (file < 0 && !stk__columns_is_wished(columns, STK_ROLE_FILE)) file = stk__columns_file(columns);
    if (file < 0) {
        stk__columns_refuse(
            columns, 0, error,
            "the header of the list cannot be used: no column names the images, as file, path, "
            "image, filename, image_id, img_path, name or id would (the first one is '%.80s')",
            stk__columns_count(columns) ? stk__columns_name(columns, 0) : "");
        stk__error_hint(error, "say which column it is: data.columns='file=COLUMN'");
        return STK_ERROR_DATA;
    }
    stk__columns_at(columns, (size_t)file)->role = STK_ROLE_FILE;
    const stk__list_column *column = stk__columns_at(columns, (size_t)file);
    if (column->pixels && column->pixels == column->cells) {
        stk__columns_refuse(columns, (size_t)file, error,
                            "the column '%.80s' has pixels as numbers: images must be files",
                            stk__columns_name(columns, (size_t)file));
        stk__error_hint(error,
                        "write each row's pixels as a PNG file, with NumPy and Pillow, and name it in the "
                        "column 'file'");
        return STK_ERROR_DATA;
    }
    if (column->urls == 0 || column->urls < column->cells) return STK_OK;
    stk__columns_refuse(columns, (size_t)file, error,
                        "the column '%.80s' has URLs: images must be local files",
                        stk__columns_name(columns, (size_t)file));
    stk__error_hint(error, "download the images, and name the files in a column 'file'");
    return STK_ERROR_DATA;
}

static bool is_numeric(const stk__list_column *column)
{
    return 2 * column->numbers >= column->cells && !column->several;
}

static bool is_label_like(const stk__columns *columns, size_t index)
{
    const char *name = stk__columns_name(columns, index);
    if (!is_free(columns, index)) return false;
    return is_among(name, label_names) ||
           (is_among(name, mixed_names) && !is_numeric(stk__columns_at(columns, index)));
}

bool stk__columns_is_mixed(const stk__columns *columns, size_t index)
{
    return is_among(stk__columns_name(columns, index), mixed_names);
}

bool stk__columns_has_label(const stk__columns *columns)
{
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        const uint8_t role = stk__columns_at(columns, i)->role;
        if (role == STK_ROLE_LABEL || role == STK_ROLE_VALUE || is_label_like(columns, i)) return true;
        if (is_among(stk__columns_name(columns, i), value_names)) return true;
    }
    return false;
}

static stk_status refuse_two(const stk__columns *columns, size_t a, size_t b, stk__role role,
                             stk_error *error)
{
    const char *first = stk__columns_name(columns, a), *second = stk__columns_name(columns, b);
    stk__columns_refuse(columns, b, error, "the columns '%.80s' and '%.80s' can both be the %s", first,
                        second, stk__role_words[role]);
    stk__error_hint(error, "say which one: data.columns='%s=%.80s' or data.columns='%s=%.80s'",
                    stk__role_words[role], first, stk__role_words[role], second);
    return STK_ERROR_DATA;
}

/* 0.73 is no class: such a label is a value, also if a few cells are no numbers. */
static bool has_decimals(const stk__list_column *column)
{
    const bool all = column->numbers == column->cells && 2 * column->wholes < column->cells;
    return column->cells && (all || 2 * column->decimals > column->cells);
}

static stk_status choose_label(stk__columns *columns, stk_error *error)
{
    int label = -1;
    if (stk__columns_is_wished(columns, STK_ROLE_LABEL)) return STK_OK;
    if (stk__columns_is_wished(columns, STK_ROLE_VALUE) && !columns->wishes[STK_ROLE_VALUE].none)
        return STK_OK;
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        if (!is_label_like(columns, i)) continue;
        if (label >= 0) return refuse_two(columns, (size_t)label, i, STK_ROLE_LABEL, error);
        label = (int)i;
    }
    if (label < 0) return STK_OK;
    stk__list_column *column = stk__columns_at(columns, (size_t)label);
    column->role = has_decimals(column) ? STK_ROLE_VALUE : STK_ROLE_LABEL;
    return STK_OK;
}

static stk_status refuse_both(const stk__columns *columns, int value, stk_error *error)
{
    const char *label = stk__columns_name(columns, (size_t)stk__columns_find(columns, STK_ROLE_LABEL));
    stk__columns_refuse(
        columns, (size_t)value, error,
        "the header of the list cannot be used: column %d '%.80s' and a label exclude each other", value + 1,
        stk__columns_name(columns, (size_t)value));
    stk__error_hint(error, "say which one: data.columns='label=%.80s' or data.columns='value=%.80s'", label,
                    stk__columns_name(columns, (size_t)value));
    return STK_ERROR_DATA;
}

static stk_status refuse_amounts(const stk__columns *columns, size_t column, stk_error *error)
{
    const char *name = stk__columns_name(columns, column);
    stk__columns_refuse(
        columns, column, error,
        "the column '%.80s' has amounts such as $1,000 or 1,5, which cannot be read as numbers", name);
    stk__error_hint(
        error, "write 1000 or 1000.5, without currency and thousands separators; data.columns='value=none' "
               "does without the column");
    return STK_ERROR_DATA;
}

static stk_status choose_value(stk__columns *columns, stk_error *error)
{
    const bool labelled = stk__columns_find(columns, STK_ROLE_LABEL) >= 0;
    int value = stk__columns_find(columns, STK_ROLE_VALUE);
    if (value >= 0 && labelled) return refuse_both(columns, value, error);
    if (stk__columns_is_wished(columns, STK_ROLE_VALUE) ||
        (stk__columns_is_wished(columns, STK_ROLE_LABEL) && !columns->wishes[STK_ROLE_LABEL].none))
        return STK_OK;
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        const stk__list_column *column = stk__columns_at(columns, i);
        const char *name = stk__columns_name(columns, i);
        const bool strong = is_among(name, value_names);
        const bool weak =
            !labelled && is_among(name, weak_value_names) && column->numbers && is_numeric(column);
        if (!is_free(columns, i)) continue;
        if ((strong || (!labelled && is_among(name, weak_value_names))) &&
            2 * column->amounts > column->cells)
            return refuse_amounts(columns, i, error);
        if (!strong && !weak) continue;
        if (labelled) return refuse_both(columns, (int)i, error);
        if (value >= 0) return refuse_two(columns, (size_t)value, i, STK_ROLE_VALUE, error);
        value = (int)i;
    }
    if (value >= 0) stk__columns_at(columns, (size_t)value)->role = STK_ROLE_VALUE;
    return STK_OK;
}

static void choose_other(stk__columns *columns, stk__role role, const char *const *names)
{
    const int found = stk__columns_is_wished(columns, role) ? -1 : find_among(columns, names);
    if (found >= 0) stk__columns_at(columns, (size_t)found)->role = (uint8_t)role;
}

/* Without a header the first column is the file, a second one the label, or a value if it has decimals. */
static stk_status choose_by_place(stk__columns *columns, stk_error *error)
{
    const size_t count = stk__columns_count(columns);
    stk__list_column *first = stk__columns_at(columns, 0);
    if (!stk__columns_is_wished(columns, STK_ROLE_FILE) && first->role == STK_ROLE_NONE)
        first->role = STK_ROLE_FILE;
    for (int role = STK_ROLE_LABEL; role < STK_ROLE_COUNT; role++)
        if (role != STK_ROLE_SPLIT && stk__columns_is_wished(columns, (stk__role)role)) return STK_OK;
    if (count > 2) {
        stk__columns_refuse(columns, 1, error,
                            "the list has no header and %zu columns: which one is the label?", count);
        stk__error_hint(error, "add a header line, or count the columns: data.columns='file=1,label=2'");
        return STK_ERROR_DATA;
    }
    stk__list_column *second = count == 2 ? stk__columns_at(columns, 1) : NULL;
    if (!second || second->role != STK_ROLE_NONE) return STK_OK;
    second->role = has_decimals(second) ? STK_ROLE_VALUE : STK_ROLE_LABEL;
    return STK_OK;
}

/* An age beside a column of words that repeat, as a diagnosis: which one is to be learned is not clear. */
static stk_status check_weak_value(const stk__columns *columns, stk_error *error)
{
    const int value = stk__columns_find(columns, STK_ROLE_VALUE);
    if (value < 0 || stk__columns_is_wished(columns, STK_ROLE_VALUE) ||
        !is_among(stk__columns_name(columns, (size_t)value), weak_value_names))
        return STK_OK;
    for (size_t i = 0; i < stk__columns_count(columns); i++) {
        const stk__list_column *column = stk__columns_at(columns, i);
        if (column->role != STK_ROLE_NONE || !column->repeated || 2 * column->numbers >= column->cells)
            continue;
        const char *name = stk__columns_name(columns, i), *number = stk__columns_name(columns, (size_t)value);
        stk__columns_refuse(columns, i, error,
                            "the column '%.80s' has values, and '%.80s' can be the label: which one is to be "
                            "learned?",
                            number, name);
        stk__error_hint(error, "data.columns='value=%.80s' or data.columns='label=%.80s'", number, name);
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

stk_status stk__columns_assign(stk__columns *columns, stk_error *error)
{
    STK__TRY(check_duplicates(columns, error));
    STK__TRY(stk__columns_grant(columns, error));
    if (columns->headless) STK__TRY(choose_by_place(columns, error));
    STK__TRY(choose_file(columns, error));
    STK__TRY(stk__columns_refuse_boxes(columns, error));
    STK__TRY(stk__columns_find_points(columns, error));
    STK__TRY(choose_label(columns, error));
    STK__TRY(choose_value(columns, error));
    choose_other(columns, STK_ROLE_MASK, mask_names);
    STK__TRY(stk__columns_choose_split(columns, error));
    STK__TRY(stk__columns_find_several(columns, error));
    STK__TRY(stk__columns_refuse_pictures(columns, error));
    return check_weak_value(columns, error);
}
