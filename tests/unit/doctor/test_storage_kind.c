/* SPDX-License-Identifier: Apache-2.0 */
/* The file systems behind the descriptors of a process, in a made-up /proc and /sys. */
#include "doctor/storage_kind.h"

#include "monitor/host/host_proc.h"
#include "support/made_up_proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static workspace space;
static char text[STK_HOST_TEXT_BYTES];
static stk__storage_tally tally;

static int set_up(void **state)
{
    (void)state;
    space = workspace_make();
    memset(&tally, 0, sizeof tally);
    proc_put(&space,
             "21 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
             "22 21 0:5 / /dev rw - devtmpfs udev rw\n"
             "23 22 0:6 / /dev/shm rw shared:4 - tmpfs tmpfs rw\n"
             "30 21 8:17 / /data rw,noatime master:3 propagate_from:2 - xfs /dev/sdb1 rw\n"
             "31 30 0:44 / /data/far\\040away rw - nfs4 server:/export rw,vers=4.2\n"
             "32 21 0:50 /a /old rw - ext4 /dev/sdc rw\n"
             "33 21 0:51 / /old rw - fuse.sshfs host: rw\n"
             "34 21 8:32 / /fast rw - ext4 /dev/sdc rw\n",
             "proc/7/mountinfo");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workspace_remove(&space);
    return 0;
}

static void open_file(int number, const char *path, const char *flags)
{
    char name[16], info[64];
    snprintf(name, sizeof name, "%d", number);
    proc_put_link(&space, path, "proc/7/fd", name);
    snprintf(info, sizeof info, "pos:\t0\nflags:\t%s\nmnt_id:\t30\n", flags);
    proc_put(&space, info, "proc/7/fdinfo/%d", number);
}

static void expect(const char *path, const char *storage)
{
    memset(&tally, 0, sizeof tally);
    open_file(3, path, "0100000");
    stk__storage_look(&tally, space.path, 7, text);
    assert_string_equal(stk__storage_most(&tally), storage);
}

static void the_longest_mount_point_counts(void **state)
{
    (void)state;
    expect("/home/x/train.h5", "ext4");
    expect("/data/0.jpg", "xfs");
    expect("/data", "xfs");
    expect("/data/far away/0.jpg", "nfs4");
    expect("/database/0.jpg", "ext4");
    expect("/old/0.jpg", "fuse.sshfs"); /* mounted over another */
    expect("/dev/shm/images/0.jpg", "tmpfs");
}

static void what_is_no_data_is_not_counted(void **state)
{
    (void)state;
    expect("/dev/nvidia0", "");
    expect("/dev/shm/torch_1_2_3", "");
    expect("/data/0.jpg (deleted)", "");
    expect("/home/x/train.py", "");
    expect("/usr/lib/locale/x", "");
    expect("socket:[123]", "");
    expect("anon_inode:[eventpoll]", "");
    open_file(3, "/data/log.txt", "0100001"); /* for writing */
    open_file(2, "/data/0.jpg", "0100000");
    stk__storage_look(&tally, space.path, 7, text);
    assert_string_equal(stk__storage_most(&tally), "");
}

static void disks_that_rotate(void **state)
{
    (void)state;
    proc_put(&space, "1\n", "sys/devices/pci0/ata1/block/sdb/queue/rotational");
    proc_put(&space, "", "sys/devices/pci0/ata1/block/sdb/sdb1/x");
    proc_put_link(&space, "../../devices/pci0/ata1/block/sdb/sdb1", "sys/dev/block", "8:17");
    expect("/data/0.jpg", "xfs on a rotating disk"); /* of a partition */
    proc_put(&space, "0\n", "sys/devices/pci0/ata2/block/sdc/queue/rotational");
    proc_put_link(&space, "../../devices/pci0/ata2/block/sdc", "sys/dev/block", "8:32");
    expect("/fast/0.jpg", "ext4");
    proc_put(&space, "1\n", "sys/devices/pci0/virtio1/block/vda/queue/rotational");
    proc_put(&space, "", "sys/devices/pci0/virtio1/block/vda/vda1/x");
    proc_put_link(&space, "../../devices/pci0/virtio1/block/vda/vda1", "sys/dev/block", "254:1");
    expect("/home/0.jpg", "ext4"); /* a virtual disk knows nothing of that */
}

static void most_files_decide(void **state)
{
    (void)state;
    assert_string_equal(stk__storage_most(&tally), "");
    open_file(3, "/home/x/labels.csv", "0100000");
    open_file(4, "/data/far away/0.tar", "0100000");
    open_file(5, "/data/far away/1.tar", "02100000");
    stk__storage_look(&tally, space.path, 7, text);
    assert_int_equal(tally.count, 2);
    assert_string_equal(stk__storage_most(&tally), "nfs4");
}

static void what_may_not_be_read_is_unknown(void **state)
{
    (void)state;
    stk__storage_look(&tally, space.path, 8, text); /* no descriptors */
    open_file(3, "/data/0.jpg", "0100000");
    proc_put(&space, "", "proc/7/mountinfo");
    stk__storage_look(&tally, space.path, 7, text);
    proc_put(&space, "1 2\n5 6 7:x / / rw - ext4\n9 9 9:9 / /data\n", "proc/7/mountinfo");
    stk__storage_look(&tally, space.path, 7, text);
    assert_int_equal(tally.count, 0);
}

/* Neither more files nor more kinds than there is room for. */
static void many_files(void **state)
{
    (void)state;
    for (int i = 3; i < 400; i++)
        open_file(i, "/data/0.jpg", "0100000");
    stk__storage_look(&tally, space.path, 7, text);
    assert_int_equal(tally.kinds[0].files, 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_longest_mount_point_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_data_is_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(disks_that_rotate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(most_files_decide, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_may_not_be_read_is_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_files, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("storage_kind", tests, NULL, NULL);
}
