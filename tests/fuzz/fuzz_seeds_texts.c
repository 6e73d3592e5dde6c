/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds for the fuzzers of texts: tables, configurations, network files, safetensors headers and states of
 * runs. */
#include "fuzz_seeds.h"

#include "core/hash.h"
#include "fuzz_state.h"
#include "support/small_model.h"
#include "train/checkpoint/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void fuzz_seed_tables(void)
{
    fuzz_seed_text("list", "labels.csv",
                   "file,label,mask,extra\nimages/a.jpg,3,masks/a.png,\"x, \"\"y\"\"\"\nb/c.png,0,d.png,\n"
                   "../e.jpg,1,e.png,\nf.jpg,-1,f.png,\nshort\n\"open,1,2,3\n");
    fuzz_seed_text("list", "names.csv",
                   "\xEF\xBB\xBF"
                   "image,class\r\na.jpg,cat\r\nb.jpg, dog \r\na.png,cat\r\n./c.xyz,\r\n");
    fuzz_seed_text("list", "points.csv",
                   "path,left_x,left_y,Right_X,right_y\na.jpg,1,2.5,3e1,4\nb.jpg,,,5,6\nc.jpg,nan,1,2,3\n");
    fuzz_seed_text("list", "values.csv", "name,value\na.jpg,1.5\nb.jpg,1e39\nc.jpg,-.5\n");
    fuzz_seed_text("list", "sets.csv", "file,tags\na.jpg,cat;dog\nb.jpg, dog | cow;\nc.jpg,cat\n");
    fuzz_seed_text("list", "flags.csv", "file,x,y\na.jpg,1,0\nb.jpg,-1,1\nc.jpg,,1\n");
    fuzz_seed_text("list", "lists.csv", "file,label\na.jpg,\"['cat', 'dog']\"\nb.jpg,[]\nc.jpg,['cow\n");
    fuzz_seed_text("list", "lists.jsonl",
                   "{\"file\": \"a.jpg\", \"label\": [\"cat\", 3]}\n{\"file\": \"b.jpg\", \"label\": []}\n");
    fuzz_seed_text("list", "series.csv",
                   "a,target,c\n1,2,3\n4,5,6\n7,x,9\n10,11,12\n13,inf,15\n16,17,18\n19,20,21\n");
    fuzz_seed_text("list", "numbers.csv", "1,2\n3,4\n\n5,6\n7,8");
    fuzz_seed_text(
        "list", "labels.jsonl",
        "{\"file\": \"a.jpg\", \"label\": 3, \"mask\": \"a.png\", \"points\": [[1, 2], null]}\n"
        "{\"file\": \"b.jpg\", \"label\": 4, \"mask\": \"b.png\", \"points\": [[1.5, -2], [3, 4]]}\n"
        "[1]\nnonsense\n\n{\"file\": 5}\n{\"file\": \"../c.jpg\", \"label\": 1, \"mask\": 1, \"points\": "
        "[]}\n");
    fuzz_seed_text("list", "names.jsonl",
                   "1\n{\"path\": \"a\", \"class\": \"cat\"}\n{\"path\": \"b\", \"class\": 7}\n");
    fuzz_seed_text("list", "values.jsonl",
                   "{\"image\": \"a.jpg\", \"value\": 1.5}\n{\"image\": \"b.jpg\", \"target\": 1e300}\n");
    fuzz_seed_text(
        "list", "coco.json",
        "{\"info\": {\"a\": [\"]}\"]}, \"images\": [{\"id\": 1, \"file_name\": \"a.jpg\"},\n"
        "{\"id\": 2, \"file_name\": \"../b.jpg\"}, {\"id\": 3, \"file_name\": \"c\"}],\n"
        "\"annotations\": [{\"image_id\": 1, \"category_id\": 1, \"keypoints\": [1, 2, 2, 0, 0, 0],"
        " \"num_keypoints\": 1},\n{\"image_id\": 2, \"category_id\": 1, \"iscrowd\": 0, "
        "\"keypoints\": [1.5, -2, 1]}, {\"image_id\": 2, \"iscrowd\": 1, \"keypoints\": [1, 2, 2]}],"
        "\n\"categories\": [{\"id\": 1, \"keypoints\": [\"left_eye\", \"right_eye\"]}]}\n");
    fuzz_seed_text("list", "classes.txt", "cat\ndog\nh\xc3\xa4ndler\r\n1\n");
}

/* --- what runs read back ------------------------------------------------------------------------------- */

/* The tensors of the small model, as a file of its own. */
static void make_weights(void)
{
    stk__model *model = small_model_make(&(small_options){.average = true});
    stk__safetensor facts[16];
    stk__buffer file = {0};
    static const char *const metadata[][2] = {{"format", "pt"}};
    int count = 0;
    for (int bytes = 8; bytes; bytes /= 2)
        for (int i = 0; i < model->count; i++) {
            const stk__model_tensor *t = &model->tensors[i];
            if (stk_dtype_bytes(t->desc.dtype) == bytes)
                facts[count++] =
                    (stk__safetensor){.name = t->name, .dtype = t->desc.dtype, .shape = t->desc.shape};
        }
    assert_int_equal(stk__safetensors_header(facts, count, metadata, 1, &file, NULL), STK_OK);
    const size_t data_bytes = facts[count - 1].offset_bytes + facts[count - 1].size_bytes;
    assert_int_equal(stk__buffer_reserve(&file, file.size_bytes + data_bytes, NULL), STK_OK);
    file.size_bytes += data_bytes;
    fuzz_seed("safetensors", "model", file.data, file.size_bytes);
    stk__buffer_fini(&file);
    small_model_remove(&model);
}

static void make_safetensors(const char *name, const char *header, size_t data_bytes)
{
    char file[1024] = {0};
    const size_t length = strlen(header);
    assert_true(8 + length + data_bytes <= sizeof file);
    for (int i = 0; i < 8; i++)
        file[i] = (char)((uint64_t)length >> 8 * i);
    memcpy(file + 8, header, length);
    fuzz_seed("safetensors", name, file, 8 + length + data_bytes);
}

static void put_json(const char *name, json_t *json)
{
    char *text = json_dumps(json, JSON_INDENT(1));
    assert_non_null(text);
    fuzz_seed_text("state", name, text);
    free(text);
    json_decref(json);
}

static void make_states(void)
{
    char sums[512] = "";
    static const char *const files[][2] = {{"model.safetensors", "weights\n"}, {"state.json", "{}\n"}};
    fuzz_state_open();
    put_json("trainer", fuzz_state_tell());
    put_json("checkpoint", json_pack("{s:i, s:i, s:i, s:f, s:{s:o}}", "schema", 1, "epoch", 2, "step", 10,
                                     "metric", 0.5, "state", "trainer", fuzz_state_tell()));
    put_json("load", json_pack("{s:i, s:s, s:i, s:i, s:s, s:s, s:i, s:i, s:s}", "schema", 1, "fingerprint",
                               "00112233445566778899aabbccddeeff", "sample_count", 100, "seed", -7, "order",
                               "full", "part", "train", "epoch", 3, "position", 32, "digest",
                               "ffeeddccbbaa99887766554433221100"));
    for (int i = 0; i < 2; i++) {
        char digest[STK_DIGEST_TEXT_BYTES];
        stk__digest_print(stk__digest_of(files[i][1], strlen(files[i][1])), digest);
        sprintf(sums + strlen(sums), "%s  %s\n", digest, files[i][0]);
    }
    fuzz_seed_text(
        "state", "pack",
        "{\"schema\": 1, \"complete\": false, \"settings\": {\"shard_bytes\": 1000, \"shard_samples\": 0}, "
        "\"parts\": [{\"part\": null, \"fingerprint\": \"00112233445566778899aabbccddeeff\", \"looks\": "
        "[\"0123456789abcdef\", null, null, null, null, null, null, null], \"count\": 9, \"next\": 5, "
        "\"shards\": 1, \"bytes\": 900, \"packed\": 4, \"left_out\": 1, \"kept\": 0, \"source_bytes\": 800, "
        "\"stored_bytes\": 700, "
        "\"facts\": \"0123456789abcdef0123456789abcdef\", \"stamps\": \"fedcba9876543210fedcba9876543210\", "
        "\"ledger_bytes\": 70}]}");
    fuzz_seed_text("state", "sums", sums);
    fuzz_seed_text("state", "metrics",
                   "{\"step\": 1, \"loss\": 2.5}\n{\"loss\": 1}\n{\"step\": 8}\n{\"x\": 1}\nnonsense\n"
                   "{\"step\": 3}\n{\"step\": 4");
}

void fuzz_seed_runs(void)
{
    make_weights();
    make_safetensors(
        "kinds",
        "{\"__metadata__\":{\"format\":\"pt\",\"quo\\\"te\\\\\":\"line\\n\\u00e4\\ud83d\\ude00\"},"
        "\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
        "\"b\":{\"shape\":[],\"dtype\":\"BF16\",\"data_offsets\":[16,18]},"
        "\"h\xc3\xa4lfte\":{\"dtype\":\"BOOL\",\"shape\":[1,1,1,1,3],\"data_offsets\":[18,21]},"
        "\"empty\":{\"dtype\":\"F16\",\"shape\":[0,4],\"data_offsets\":[21,21]}}   ",
        21);
    make_safetensors("halves",
                     "{\"stem.norm.weight\":{\"dtype\":\"F16\",\"shape\":[7],\"data_offsets\":[0,14]}}", 14);
    make_safetensors("nothing", "{}", 0);
    make_states();
}
