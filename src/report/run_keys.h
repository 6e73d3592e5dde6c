/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of run.json that the page and grids of the program read, as src/session writes them. The file has
 * one object; those whose names end in _OF_… are keys of an object or of rows inside it. Keys of objects that
 * others print too stand where those are made: data.understood in session/data_json.c, notes in
 * session/file_notes_json.c, effects also in core/config_effects.c, monitor in monitor/record/frame_json.h.
 */
#ifndef STK_REPORT_RUN_KEYS_H
#define STK_REPORT_RUN_KEYS_H

#define STK_RUN_FILE "run.json"

#define STK_RUN_KEY_SCHEMA         "schema"
#define STK_RUN_KEY_RUN            "run" /* folder */
#define STK_RUN_KEY_NETWORK        "network"
#define STK_RUN_KEY_ENGINE         "engine"
#define STK_RUN_KEY_ENGINE_VERSION "engine_version"
#define STK_RUN_KEY_THREADS        "threads"
#define STK_RUN_KEY_DATE           "date"  /* UTC, of the end */
#define STK_RUN_KEY_STEPS          "steps" /* of the whole run, with those before it was resumed */
#define STK_RUN_KEY_STEPS_RUN      "steps_run"
#define STK_RUN_KEY_EPOCHS         "epochs"

#define STK_RUN_KEY_SAMPLES_PER_S "samples_per_s"
#define STK_RUN_KEY_STEP_MS       "step_ms" /* median */
#define STK_RUN_KEY_FIRST_STEP_S  "first_step_s"
#define STK_RUN_KEY_WALL_S        "wall_s"

#define STK_RUN_KEY_METRIC        "metric" /* name of what best_metric is */
#define STK_RUN_KEY_BEST_METRIC   "best_metric"
#define STK_RUN_KEY_BEST_STEP     "best_step"
#define STK_RUN_KEY_LOSS          "loss" /* of the last log */
#define STK_RUN_KEY_LOSS_SCALE    "loss_scale"
#define STK_RUN_KEY_SKIPPED_STEPS "skipped_steps"

#define STK_RUN_KEY_PEAK_MEMORY    "peak_memory_bytes"
#define STK_RUN_KEY_PLANNED_MEMORY "planned_memory_bytes"
#define STK_RUN_KEY_ESTIMATE_WHY                                                                             \
    "planned_memory_estimate_reason" /* why a run may take more; null: it will not */
#define STK_RUN_KEY_MODEL          "model_bytes"
#define STK_RUN_KEY_ACTIVATION     "activation_bytes"
#define STK_RUN_KEY_BATCHES        "batch_bytes"     /* of a plan only */
#define STK_RUN_KEY_CACHE          "cache_bytes"     /* of a plan only */
#define STK_RUN_KEY_PROGRAM        "program_bytes"   /* of a plan only */
#define STK_RUN_KEY_TEMPORARY      "temporary_bytes" /* of a plan only */
#define STK_RUN_KEY_VERDICT        "available"       /* of a plan only: whether it fits; null: unknown */
#define STK_RUN_KEY_DEVICE         "device"          /* these four: of a run on a GPU */
#define STK_RUN_KEY_PLANNED_DEVICE "planned_device_bytes"
#define STK_RUN_KEY_CUDA           "cuda_bytes"
#define STK_RUN_KEY_PEAK_DEVICE    "peak_device_bytes"

#define STK_RUN_KEY_INTERRUPTED      "interrupted"
#define STK_RUN_KEY_FAILED           "failed"
#define STK_RUN_KEY_ERROR            "error" /* why: an object, or null */
#define STK_RUN_KEY_MESSAGE_OF_ERROR "message"
#define STK_RUN_KEY_PLACE_OF_ERROR   "place"
#define STK_RUN_KEY_HINT_OF_ERROR    "hint"
#define STK_RUN_KEY_STOPPED_EARLY    "stopped_early"
#define STK_RUN_KEY_CHECKPOINT       "checkpoint" /* the last one */

#define STK_RUN_KEY_ADVICE            "advice"       /* the most important; empty: none */
#define STK_RUN_KEY_ADVICE_RULES      "advice_rules" /* all of them, most important first; rows: */
#define STK_RUN_KEY_ID_OF_ADVICE      "id"
#define STK_RUN_KEY_TEXT_OF_ADVICE    "text"
#define STK_RUN_KEY_NOTES             "notes" /* odd files; rows: session/file_notes_json.h */
#define STK_RUN_KEY_STALL             "stall" /* rows: */
#define STK_RUN_KEY_NAME_OF_STALL     "name"
#define STK_RUN_KEY_SHARE_OF_STALL    "share"
#define STK_RUN_KEY_DEVICE_COPY_MS    "device_copy_ms"
#define STK_RUN_KEY_DEVICE_AUGMENT_MS "device_augment_ms"

#define STK_RUN_KEY_EFFECTS             "effects" /* rows, as stk__config_effects_json makes them: */
#define STK_RUN_KEY_NAME_OF_EFFECT      "name"
#define STK_RUN_KEY_REQUESTED_OF_EFFECT "requested"
#define STK_RUN_KEY_IN_EFFECT_OF_EFFECT "in_effect"
#define STK_RUN_KEY_WHY_OF_EFFECT       "why"

#define STK_RUN_KEY_DATA                "data" /* an object: */
#define STK_RUN_KEY_ROOT_OF_DATA        "root"
#define STK_RUN_KEY_LAYOUT_OF_DATA      "layout"
#define STK_RUN_KEY_FOUND_OF_DATA       "understood" /* layout, parts, formats, what was left out */
#define STK_RUN_KEY_SAMPLES_OF_DATA     "samples"
#define STK_RUN_KEY_VAL_SAMPLES_OF_DATA "val_samples"
#define STK_RUN_KEY_BAD_SAMPLES_OF_DATA "val_bad_samples" /* in the last evaluation; null: there was none */
#define STK_RUN_KEY_BATCH_SIZE_OF_DATA  "batch_size"

#define STK_RUN_KEY_EVALUATION               "evaluation" /* the last one, of classes; null: there was none: */
#define STK_RUN_KEY_UNIT_OF_EVALUATION       "unit"       /* "samples" or "pixels" */
#define STK_RUN_KEY_CONFUSION_OF_EVALUATION  "confusion"  /* rows: truth; null: too many classes */
#define STK_RUN_KEY_CONFUSIONS_OF_EVALUATION "largest_confusions" /* rows: */
#define STK_RUN_KEY_TRUTH_OF_CONFUSION       "truth"
#define STK_RUN_KEY_PREDICTION_OF_CONFUSION  "prediction"
#define STK_RUN_KEY_COUNT_OF_CONFUSION       "count"
#define STK_RUN_KEY_CLASSES_OF_EVALUATION    "classes" /* rows; numbers that nothing was counted for: null */
#define STK_RUN_KEY_NAME_OF_CLASS            "name"
#define STK_RUN_KEY_COLOUR_OF_CLASS          "colour" /* in pictures, "#rrggbb"; null: none */
#define STK_RUN_KEY_COUNT_OF_CLASS           "count"
#define STK_RUN_KEY_PREDICTED_OF_CLASS       "predicted"
#define STK_RUN_KEY_PRECISION_OF_CLASS       "precision"
#define STK_RUN_KEY_RECALL_OF_CLASS          "recall"
#define STK_RUN_KEY_IOU_OF_CLASS             "iou" /* of pixels only */
#define STK_RUN_KEY_F_SCORE_OF_CLASS         "f_score"

#define STK_RUN_KEY_PARAMETERS    "parameters"
#define STK_RUN_KEY_FORWARD_FLOPS "forward_flops" /* of a plan, and of rows of layers */
#define STK_RUN_KEY_STEP_FLOPS    "step_flops"
#define STK_RUN_KEY_SAMPLE_FLOPS  "sample_flops" /* of a plan only: the same of one sample */

#define STK_RUN_KEY_LAYERS              "layers" /* rows; besides these parameters and forward_flops: */
#define STK_RUN_KEY_NAME_OF_LAYER       "name"
#define STK_RUN_KEY_OP_OF_LAYER         "op"
#define STK_RUN_KEY_OUTPUT_OF_LAYER     "output"
#define STK_RUN_KEY_MEMORY_OF_LAYER     "memory_bytes"
#define STK_RUN_KEY_RECOMPUTED_OF_LAYER "recomputed"

#define STK_RUN_KEY_TRACE          "trace" /* an object, of a run with --trace: */
#define STK_RUN_KEY_STEPS_OF_TRACE "steps"
#define STK_RUN_KEY_SPANS_OF_TRACE "spans"
#define STK_RUN_KEY_LOST_OF_TRACE  "lost_spans"
#define STK_RUN_KEY_NOTE_OF_TRACE  "note"
#define STK_RUN_KEY_MONITOR        "monitor" /* as the summary of `stoker monitor --json` */

#endif
