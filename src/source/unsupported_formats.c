/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of other programs that cannot be read: containers (.h5, .zip, .parquet, …), COCO's JSON, YOLO's
 * text files and VOC's XML. Each is refused by name, with the way to convert it; none is ever taken for a
 * folder of images without labels. Only a few names and the start of one file are looked at. One thread. */
#include "source/kinds.h"

#include "core/text.h"
#include "source/extension.h"
#include "source/list/list.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct {
    const char *extension, *what, *hint;
} containers[] = {
    {"h5", "an HDF5 file",
     "write its images as PNG files into a folder per class: h5py, then PIL.Image.save"},
    {"hdf5", "an HDF5 file",
     "write its images as PNG files into a folder per class: h5py, then PIL.Image.save"},
    {"xlsx", "an Excel workbook", "save it as \"CSV UTF-8\", and give that file"},
    {"xls", "an Excel workbook", "save it as \"CSV UTF-8\", and give that file"},
    {"ods", "a spreadsheet", "save it as CSV (UTF-8), and give that file"},
    {"zip", "a ZIP archive", "unpack it: unzip FILE -d FOLDER, and give the folder"},
    {"7z", "a 7-Zip archive", "unpack it: 7z x FILE, and give the folder"},
    {"rar", "a RAR archive", "unpack it: unrar x FILE, and give the folder"},
    {"gz", "a compressed file", "unpack it: tar -xzf FILE or gunzip FILE"},
    {"tgz", "a compressed archive", "unpack it: tar -xzf FILE, and give the folder"},
    {"bz2", "a compressed file", "unpack it: tar -xjf FILE or bunzip2 FILE"},
    {"xz", "a compressed file", "unpack it: tar -xJf FILE or unxz FILE"},
    {"parquet", "a Parquet table",
     "write its images as files and the rest as CSV: pandas.read_parquet, to_csv"},
    {"arrow", "an Arrow table", "write its images as files and the rest as CSV with pandas"},
    {"feather", "a Feather table", "write it as CSV: pandas.read_feather(FILE).to_csv('labels.csv')"},
    {"mat", "a MATLAB file", "write its images as PNG files and its labels as CSV: scipy.io.loadmat"},
    {"tfrecord", "a TFRecord file",
     "write its images as files with TensorFlow, or as WebDataset shards (.tar)"},
    {"tfrecords", "a TFRecord file",
     "write its images as files with TensorFlow, or as WebDataset shards (.tar)"},
    {"rec", "an MXNet RecordIO file",
     "write its images as files: mxnet.recordio, or as WebDataset shards (.tar)"},
    {"lmdb", "an LMDB database", "write its images as files, or as WebDataset shards (.tar)"},
    {"mdb", "an LMDB database", "write its images as files, or as WebDataset shards (.tar)"},
    {"pkl", "a Python pickle", "write its arrays as .npy and its tables as CSV"},
    {"pt", "a PyTorch file", "write its tensors as .npy: numpy.save('x.npy', tensor.numpy())"},
    {"npz", "an archive of NumPy arrays", "write each array as .npy: numpy.save"},
    {"dcm", "a DICOM file", "write its image as PNG: pydicom, scaled to 0 to 255, then PIL.Image.save"},
    {"nii", "a NIfTI volume", "write its slices as PNG files, those of labels into masks/: nibabel"},
    {"jfif", "a JPEG file by another name", "rename it to .jpg, and give its folder"},
    {"jpe", "a JPEG file by another name", "rename it to .jpg, and give its folder"},
    {"ubyte", "a file of many images",
     "write each image as PNG into a folder per class (MNIST: torchvision)"},
    {"xml", "an XML file",
     "bounding boxes (VOC) are not supported; labels go into a CSV with file and label"},
};

static const char boxes_hint[] =
    "object detection is not supported; classes go into labels.csv (file,label), points "
    "into points.csv (file,NAME_x,NAME_y), masks into masks/ as PNG; data.layout=images with the folder of "
    "the images as the data set loads the images alone";

static int find_container(const char *extension)
{
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++)
        if (strcasecmp(containers[i].extension, extension) == 0) return (int)i;
    return -1;
}

const char *stk__unsupported_hint(const char *extension)
{
    const int found = find_container(extension);
    if (found >= 0) return containers[found].hint;
    return stk__extension_is_unread(extension, strlen(extension))
               ? "convert them to PNG (without loss; masks always), photos to JPEG: ImageMagick's mogrify "
                 "-format png, or Image.open(FILE).save(...) with Pillow"
               : NULL;
}

static stk_status refuse(const char *path, const char *what, const char *hint, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' %s", path, what);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_DATA;
}

/* --- the start of a file -------------------------------------------------------------------------------- */

enum { START_BYTES = 1 << 16 };

/* Zero-terminated; empty when it cannot be read. The caller frees it; NULL without memory. */
static char *read_start(const char *path)
{
    char *text = stk__alloc(START_BYTES + 1);
    const int file = text ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    const ssize_t got = file < 0 ? -1 : pread(file, text, START_BYTES, 0);
    if (text) text[got < 0 ? 0 : got] = '\0';
    if (file >= 0) close(file);
    return text;
}

/* As COCO writes it; what each image has is behind, so the start must do. */
static const char *judge_json(const char *text)
{
    const bool images = strstr(text, "\"images\"") != NULL;
    if (strstr(text, "\"shapes\"") && strstr(text, "\"imagePath\""))
        return "is a labelme annotation of one image";
    if (images && (strstr(text, "\"annotations\"") || strstr(text, "\"categories\"") ||
                   strstr(text, "\"licenses\"") || strstr(text, "\"file_name\"")))
        return "is a COCO annotation file without key points (boxes or polygons)";
    if (strstr(text, "\"_via_img_metadata\"") || strstr(text, "\"regions\""))
        return "is a VIA annotation file";
    return NULL;
}

/* "0 0.51 0.48 0.2 0.3": class, center and size; more numbers are a polygon. */
static bool is_yolo(const char *text)
{
    int numbers = 0;
    char *end;
    for (const char *at = text; *at && *at != '\n'; at = end, numbers++) {
        strtod(at, &end);
        if (end == at) return numbers >= 5 && at[strspn(at, " \r")] == '\n';
        if (*end == '\n') return numbers + 1 >= 5;
    }
    return numbers >= 5;
}

/* --- CelebA and WFLW ------------------------------------------------------------------------------------ */

static const char *next_word(const char *at, size_t *length)
{
    at += strspn(at, " \t");
    *length = strcspn(at, " \t\r\n");
    return at;
}

/* The number of images alone in the first line, names of columns in the second, a file first in the third. */
static bool is_celeba(const char *text)
{
    size_t digits = strspn(text, "0123456789"), length;
    text += digits;
    text += strspn(text, " \r");
    if (!digits || *text != '\n') return false;
    text += 1 + strcspn(text + 1, "\n");
    if (*text != '\n') return false;
    const char *word = next_word(text + 1, &length);
    return stk__extension_is_picture(word, length);
}

/* Points first, the file last. */
static bool is_wflw(const char *text)
{
    enum { NUMBERS_LEAST = 10 };
    int numbers = 0;
    size_t length;
    for (const char *at = next_word(text, &length); length; at = next_word(at + length, &length)) {
        char *end;
        strtod(at, &end);
        if (end != at + length) return numbers >= NUMBERS_LEAST && stk__extension_is_picture(at, length);
        numbers++;
    }
    return false;
}

/* *refused: the file is one of these. */
static stk_status refuse_text(const char *path, bool *refused, stk_error *error)
{
    char *text = read_start(path);
    *refused = true;
    if (!text) return stk__fail_memory(error, START_BYTES, "the start of a file");
    const bool celeba = is_celeba(text), wflw = is_wflw(text),
               boxes = celeba && strstr(text, "\nimage_id x_1 ");
    stk__free(text);
    if (boxes) return refuse(path, "is CelebA's table of boxes", boxes_hint, error);
    if (celeba) {
        refuse(path,
               "is a table as CelebA has them, which is not read: the number of images, the names of columns "
               "without that of the files, and blanks between cells",
               "", error);
        stk__error_hint(
            error,
            "write it as CSV: f='%.100s'; { printf 'image_id '; sed -n 2p \"$f\"; tail -n +3 \"$f\"; "
            "} | tr -s ' ' , | sed 's/,$//' > labels.csv",
            strlen(path) > 100 && strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
        return STK_ERROR_DATA;
    }
    if (wflw)
        return refuse(path, "is a table with points first and the file last (WFLW), which is not read",
                      "write points.csv: the line file,p0_x,p0_y,p1_x,p1_y,…, then one for each image",
                      error);
    *refused = false;
    return STK_OK;
}

stk_status stk__unsupported_refuse_file(const char *path, stk_error *error)
{
    const char *dot = strrchr(path, '.');
    const int found = dot ? find_container(dot + 1) : -1;
    if (found >= 0) {
        stk__fail(error, STK_ERROR_DATA, "'%s' is %s, which cannot be read", path, containers[found].what);
        stk__error_place(error, "%s", path);
        stk__error_hint(error, "%s", containers[found].hint);
        return STK_ERROR_DATA;
    }
    if (dot && strcasecmp(dot, ".txt") == 0) {
        bool refused;
        const stk_status status = refuse_text(path, &refused, error);
        if (refused) return status;
    }
    if (dot && strcasecmp(dot, ".json") == 0) {
        char *text = read_start(path);
        if (!text) return stk__fail_memory(error, START_BYTES, "the start of a file");
        const char *what = judge_json(text);
        stk__free(text);
        return refuse(path, what ? what : "is JSON, but not a list: one object per line (.jsonl) is one",
                      what ? boxes_hint
                           : "{\"file\": \"a.jpg\", \"label\": \"cat\"} in each line of labels.jsonl",
                      error);
    }
    stk__fail(error, STK_ERROR_DATA, "'%s' is neither a list, a series nor a shard", path);
    stk__error_place(error, "%s", path);
    stk__error_hint(error,
                    "give a folder, a .tar shard, a .csv, .tsv or .jsonl list of images, or a .csv or .npy "
                    "series");
    return STK_ERROR_DATA;
}

/* --- folders -------------------------------------------------------------------------------------------- */

/* The first file in root/folder with this extension, bytewise, of up to 1,000 names. */
static bool find_file(const char *root, const char *folder, const char *extension, char path[PATH_MAX])
{
    char inside[PATH_MAX], best[NAME_MAX + 1] = "";
    DIR *open = stk__path_join(inside, root, folder) ? opendir(inside) : NULL;
    if (!open) return false;
    int looked_at = 0;
    for (const struct dirent *found; looked_at < 1000 && (found = readdir(open)); looked_at++) {
        const char *name = found->d_name;
        if (name[0] == '.' || !stk__text_ends_with(name, strlen(name), extension)) continue;
        if (!*best || strcmp(name, best) < 0) snprintf(best, sizeof best, "%s", name);
    }
    closedir(open);
    return *best && stk__path_join(path, inside, best);
}

static stk_status refuse_json(const char *path, stk_error *error)
{
    char *text = read_start(path);
    if (!text) return stk__fail_memory(error, START_BYTES, "the start of a file");
    const char *what = judge_json(text);
    stk__free(text);
    return what ? refuse(path, what, boxes_hint, error) : STK_OK;
}

static stk_status refuse_yolo(const char *path, stk_error *error)
{
    char *text = read_start(path);
    if (!text) return stk__fail_memory(error, START_BYTES, "the start of a file");
    const bool yolo = is_yolo(text);
    stk__free(text);
    return yolo ? refuse(path, "is a YOLO annotation (class and box of each object)", boxes_hint, error)
                : STK_OK;
}

stk_status stk__unsupported_refuse_folder(const char *root, stk_error *error)
{
    static const char *const json_folders[] = {"annotations", "Annotations", "labels"};
    static const char *const json_files[] = {"annotations.json",
                                             "_annotations.coco.json",
                                             "coco.json",
                                             "instances_default.json",
                                             "result.json",
                                             "labels.json",
                                             "via_region_data.json",
                                             "train/_annotations.coco.json"};
    static const char *const yolo_folders[] = {"labels", "labels/train", "train/labels", "obj_train_data"};
    static const char *const xml_folders[] = {"Annotations", "annotations", "annotations/xmls", "Annotation"};
    static const char *const celeba[] = {"list_attr_celeba.txt", "Anno/list_attr_celeba.txt"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof celeba / sizeof celeba[0]; i++) {
        bool refused = false;
        if (!stk__path_join(path, root, celeba[i]) || !stk__path_is_file(path)) continue;
        const stk_status status = refuse_text(path, &refused, error);
        if (refused) return status;
    }
    for (size_t i = 0; i < sizeof json_files / sizeof json_files[0]; i++)
        if (stk__path_join(path, root, json_files[i]) && stk__path_is_file(path))
            STK__TRY(refuse_json(path, error));
    for (size_t i = 0; i < sizeof json_folders / sizeof json_folders[0]; i++)
        if (find_file(root, json_folders[i], ".json", path)) STK__TRY(refuse_json(path, error));
    for (size_t i = 0; i < sizeof yolo_folders / sizeof yolo_folders[0]; i++)
        if (find_file(root, yolo_folders[i], ".txt", path)) STK__TRY(refuse_yolo(path, error));
    for (size_t i = 0; i < sizeof xml_folders / sizeof xml_folders[0]; i++)
        if (find_file(root, xml_folders[i], ".xml", path))
            return refuse(path, "is a VOC annotation (boxes of each object)", boxes_hint, error);
    return stk__list_refuse_unnamed(root, error);
}
