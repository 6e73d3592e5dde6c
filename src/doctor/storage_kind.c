/* SPDX-License-Identifier: Apache-2.0 */
/* Which file systems hold the data: the descriptors of a process lead to paths, the longest mount point
 * before a path (/proc/PID/mountinfo) names its file system, /sys its disk. A file that is open for a moment
 * only is seen by chance: the slower the storage, the more often. Without permission nothing is counted. One
 * thread. */
#include "doctor/storage_kind.h"

#include "core/text.h"
#include "monitor/host/host_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DESCRIPTORS = 256, FILES = 32, FIRST_FILE = 3 /* behind standard error */ };

typedef struct mount_facts {
    char type[48];
    unsigned major, minor;
} mount_facts;

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Data, as far as a path tells: no device, no shared memory of PyTorch and Python, no program. */
static bool is_data(const char *path)
{
    static const char *const places[] = {"/dev/", "/proc/", "/sys/", "/usr/", "/lib", "/etc/"};
    static const char *const shared[] = {"torch_", "psm_", "sem."};
    static const char *const ends[] = {".py", ".pyc", ".so", ".log", " (deleted)"};
    const size_t length = strlen(path);
    const char *memory = begins(path, "/dev/shm/") ? path + strlen("/dev/shm/") : NULL;
    for (size_t i = 0; memory && i < sizeof shared / sizeof *shared; i++)
        if (begins(memory, shared[i])) return false;
    for (size_t i = 0; !memory && i < sizeof places / sizeof *places; i++)
        if (begins(path, places[i])) return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (stk__text_ends_with(path, length, ends[i])) return false;
    return path[0] == '/';
}

/* "flags:\t0100002": the lowest two bits are 0 for reading only. */
static bool is_for_reading(const char *root, int32_t pid, const char *number, char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/fdinfo/%s", root, (int)pid, number);
    const char *info = stk__host_text(&file, text);
    const char *flags = info ? stk__host_line(info, "flags:") : NULL;
    stk__host_file_close(&file);
    return flags && (strtoul(flags, NULL, 8) & O_ACCMODE) == O_RDONLY;
}

/* One field up to the blank; "\040" stands for a blank in it. Moves behind it. */
static void take_field(const char **at, char *field, size_t room)
{
    size_t length = 0;
    for (*at += strspn(*at, " "); **at && **at != ' ' && **at != '\n'; (*at)++) {
        char letter = **at;
        if (letter == '\\' && strspn(*at + 1, "01234567") >= 3) {
            letter = (char)(((*at)[1] - '0') * 64 + ((*at)[2] - '0') * 8 + (*at)[3] - '0');
            *at += 3;
        }
        if (length + 1 < room) field[length++] = letter;
    }
    field[length] = '\0';
}

/* Length of the mount point if it holds the path, else 0. */
static size_t match(const char *path, const char *point)
{
    const size_t length = strlen(point);
    if (strcmp(point, "/") == 0) return 1;
    return begins(path, point) && (path[length] == '/' || !path[length]) ? length : 0;
}

/* Lines "36 35 98:0 /root /point options tags - type source …"; of equal points the later one is on top. */
static bool find_mount(const char *lines, const char *path, mount_facts *mount)
{
    size_t best = 0;
    while (*lines) {
        char field[STK_HOST_PATH_BYTES], number[32], point[STK_HOST_PATH_BYTES];
        const char *at = lines;
        for (int i = 0; i < 2; i++) /* ids of the mount and its parent */
            take_field(&at, field, sizeof field);
        take_field(&at, number, sizeof number);
        take_field(&at, field, sizeof field); /* root within the file system */
        take_field(&at, point, sizeof point);
        while (*at && *at != '\n' && strcmp(field, "-") != 0)
            take_field(&at, field, sizeof field);
        const size_t length = match(path, point);
        mount_facts found = {0};
        take_field(&at, found.type, sizeof found.type);
        if (length && length >= best && found.type[0] &&
            sscanf(number, "%u:%u", &found.major, &found.minor) == 2) {
            *mount = found;
            best = length;
        }
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    return best > 0;
}

/* A partition's queue is its disk's. Disks of virtual machines call themselves rotating whatever they are. */
static bool is_rotating(const char *root, const mount_facts *mount, char *text)
{
    char path[STK_HOST_PATH_BYTES], device[STK_HOST_PATH_BYTES];
    snprintf(path, sizeof path, "%s/sys/dev/block/%u:%u", root, mount->major, mount->minor);
    const ssize_t length = mount->major ? readlink(path, device, sizeof device - 1) : -1;
    if (length <= 0) return false;
    device[length] = '\0';
    if (strstr(device, "/virtio") || strstr(device, "/vbd-") || strstr(device, "/loop")) return false;
    stk__host_file file = stk__host_file_open("%s/queue/rotational", path);
    if (file.file < 0) file = stk__host_file_open("%s/../queue/rotational", path);
    const char *rotational = stk__host_text(&file, text);
    stk__host_file_close(&file);
    return rotational && rotational[0] == '1';
}

static void count_file(stk__storage_tally *tally, const char *name)
{
    int i = 0;
    while (i < tally->count && strcmp(tally->kinds[i].name, name) != 0)
        i++;
    if (i == STK_STORAGE_KINDS) return;
    if (i == tally->count) snprintf(tally->kinds[tally->count++].name, STK_DOCTOR_TEXT, "%s", name);
    tally->kinds[i].files++;
}

static void look_at(stk__storage_tally *tally, const char *root, int32_t pid, const char *path, char *text)
{
    char name[STK_DOCTOR_TEXT];
    mount_facts mount;
    stk__host_file file = stk__host_file_open("%s/proc/%d/mountinfo", root, (int)pid);
    const char *mounts = stk__host_text(&file, text);
    stk__host_file_close(&file);
    if (!mounts || !find_mount(mounts, path, &mount)) return;
    const bool rotating = is_rotating(root, &mount, text);
    snprintf(name, sizeof name, "%s%s", mount.type, rotating ? " on a rotating disk" : "");
    count_file(tally, name);
}

void stk__storage_look(stk__storage_tally *tally, const char *root, int32_t pid, char *text)
{
    char folder[STK_HOST_PATH_BYTES], link[STK_HOST_PATH_BYTES + 280], path[STK_HOST_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/proc/%d/fd", root, (int)pid);
    DIR *descriptors = opendir(folder);
    if (!descriptors) return;
    const struct dirent *entry;
    for (int i = 0, files = 0; i < DESCRIPTORS && files < FILES && (entry = readdir(descriptors)); i++) {
        if (strtol(entry->d_name, NULL, 10) < FIRST_FILE) continue;
        snprintf(link, sizeof link, "%s/%s", folder, entry->d_name);
        const ssize_t length = readlink(link, path, sizeof path - 1);
        if (length <= 0) continue;
        path[length] = '\0';
        if (!is_data(path) || !is_for_reading(root, pid, entry->d_name, text)) continue;
        look_at(tally, root, pid, path, text);
        files++;
    }
    closedir(descriptors);
}

const char *stk__storage_most(const stk__storage_tally *tally)
{
    int most = 0;
    for (int i = 1; i < tally->count; i++)
        if (tally->kinds[i].files > tally->kinds[most].files) most = i;
    return tally->count ? tally->kinds[most].name : "";
}
