#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Published data sets in their own folders that were read as something else: classes that are none, tables of pixels,
parts in another table. Each is refused with the setting or the step that helps, or read as it is meant."""
import json
import pathlib
import subprocess
import unittest

from layout_case import JPEG, MASK, Case, Workspace, names, run_cases

PAIR = "images and masks"
KEYS = ["000000_10", "000001_10", "000002_10"]
PATIENTS = ("BraTS20_001", "BraTS20_002")


def kitti(*folders):
    return names("training/{}.png", *(f"{folder}/{key}" for folder in folders for key in KEYS))


def rows(header, *lines):
    return "\n".join((header, *lines, ""))


KITTI = kitti("image_2", "semantic", "semantic_rgb", "instance") + names("testing/image_2/{}.png", *KEYS)
MAPILLARY = [f"{part}/{name}" for part in ("training", "validation") for name in
             ("images/a.jpg", "images/b.jpg", "v1.2/labels/a.png", "v1.2/labels/b.png", "v1.2/instances/a.png")]
PETS = {**dict.fromkeys(names("images/{}.jpg", "pug_1", "pug_2")),
        **dict.fromkeys(names("annotations/trimaps/{}.png", "pug_1", "pug_2"), MASK), "annotations/list.txt": "pug_1 1 1 1\n"}
SATELLITE = {**dict.fromkeys(names("train/{}_sat.jpg", "1", "2")), **dict.fromkeys(names("train/{}_mask.png", "1", "2"), MASK),
             "valid/3_sat.jpg": None, "metadata.csv": rows("image_id,split,sat_image_path,mask_path", "1,train,train/1_sat.jpg,train/1_mask.png")}

CLASSES = [
    Case("KITTI semantics", KITTI, refused="images in 'image_2' with masks in 'semantic', whose file names match",
         hint=["data.images=image_2 data.masks=semantic", "data.layout=parts"]),
    Case("KITTI semantics, as told", dict.fromkeys(KITTI, MASK), "data.images=image_2", "data.masks=semantic", layout=f"{PAIR} in training/",
         samples=3, parts=["train", "test"], found="images in 'image_2', masks in 'semantic', as set"),
    Case("Mapillary", MAPILLARY, refused="'./training' has images in 'images', which is called like the images of a data set, and in 'v1.2'",
         hint=["data.images=images data.masks=NAME", "data.layout=parts"]),
    Case("Mapillary, as told", dict.fromkeys(MAPILLARY, MASK) | {name: JPEG for name in MAPILLARY if "images/" in name},
         "data.images=images", "data.masks=v1.2/labels", layout=f"{PAIR} in training/", samples=2, parts=["train", "val"],
         found="images in 'images', masks in 'v1.2/labels', as set"),
    Case("images/ and another folder", names("{}.jpg", "images/1", "images/2", "previews/1", "previews/2"),
         refused="these are hardly classes", hint=["data.images=images", "give './images' as the data set", "data.layout=classes"]),
    Case("images/ and another folder, as told", names("{}.jpg", "images/1", "images/2", "previews/1", "previews/2"), "data.layout=classes",
         layout="folder of classes", samples=4, classes=["images", "previews"]),
    Case("slices of patients (BraTS)", [f"{p}/{p}_{kind}_{i}.png" for p in PATIENTS for i in "012" for kind in ("flair", "t1", "t2", "seg")],
         refused="each folder in '.' has files called like masks ('BraTS20_002/BraTS20_002_seg_0')",
         hint=["masks into masks/", "data.mask_suffix", "data.layout=classes"]),
    Case("with and without a mask on the face", names("with_mask/with_mask_{}.jpg", *"123") + names("without_mask/without_mask_{}.jpg", *"123"),
         layout="folder of classes", samples=6, classes=["with_mask", "without_mask"]),
    Case("a mask in one class", ["cat/1.jpg", "cat/mask_of_2.jpg", "dog/1.jpg", "dog/2.jpg"], layout="folder of classes", samples=4,
         classes=["cat", "dog"]),
    Case("years", names("{}/IMG.jpg", "2022/01", "2022/02", "2023/01"), refused="the folders '2022' to '2023' in '.' are called like dates",
         hint=["data.layout=images", "data.layout=classes"]),
    Case("days", names("{}/IMG.jpg", "2022-01-05", "2022-01-06"), refused="called like dates", hint="data.layout=images"),
    Case("days, as told", names("{}/IMG.jpg", "2022-01-05", "2022-01-06"), "data.layout=images", layout="folder of images", samples=2),
    Case("numbers are no dates", names("{}/IMG.jpg", "0001", "2001", "0003"), layout="folder of classes", samples=3,
         classes=["0001", "0003", "2001"]),
    Case("the same folders in each", names("{}.jpg", "augmented/cat/1", "augmented/dog/1", "original/cat/1", "original/dog/1"),
         refused="its folders are classes ('augmented', …), or those in each of them, which have the same names ('cat', …)",
         hint=["data.layout=classes, if 'augmented' is a class", "give './augmented' as the data set"]),
    Case("other folders in each", names("{}.jpg", "big/cat/1", "big/dog/1", "small/cat/1", "small/fox/1"), layout="folder of classes",
         samples=4, classes=["big", "small"]),
    Case("years in each class", names("{}.jpg", "cat/2022/1", "cat/2023/1", "dog/2022/1", "dog/2023/1"), layout="folder of classes",
         samples=4, classes=["cat", "dog"]),
    Case("Tiny ImageNet: val/images is no class", names("train/{}.jpg", "n01/images/1", "n02/images/1") + names("{}.jpg", "val/images/1", "test/images/1"),
         layout="folder of classes in train/", samples=2, classes=["n01", "n02"], parts=["train", "val", "test"]),
    Case("parts by longer names (ASL)", ["asl_train/asl_train/A/1.jpg", "asl_test/asl_test/A.jpg"],
         refused="the folders 'asl_train' and 'asl_test' in '.' are called like parts of a data set",
         hint=["give './asl_train' as the data set", "rename the folders train, val and test", "data.layout=classes"]),
    Case("numbered parts", names("{}/1.jpg", "01_train/a", "01_train/b", "02_test/a", "02_test/b"),
         refused="the folders '01_train' and '02_test'", hint="rename the folders train, val and test"),
    Case("parts and another folder (Market-1501)", names("{}/1.jpg", "bounding_box_train", "bounding_box_test", "query"),
         refused="the folders 'bounding_box_train' and 'bounding_box_test'", hint="give './bounding_box_train' as the data set"),
    Case("parts in the middle of a name (DIV2K)", names("{}/1.png", "DIV2K_train_HR", "DIV2K_valid_HR"),
         refused="the folders 'DIV2K_train_HR' and 'DIV2K_valid_HR'", hint="data.layout=classes"),
    Case("parts with dev", names("{}/1.jpg", "cars_train", "cars_dev"), refused="the folders 'cars_train' and 'cars_dev'",
         hint="give './cars_train' as the data set"),
    Case("trainA, testA", names("{}/1.jpg", "trainA", "trainB", "testA", "testB"), refused="the folders 'trainA' and 'testA'",
         hint="data.layout=classes"),
    Case("parts by longer names, as classes", names("{}/1.jpg", "cars_train", "cars_test"), "data.layout=classes",
         layout="folder of classes", samples=2, classes=["cars_test", "cars_train"]),
    Case("few classes called like parts", names("{}/1.jpg", "bus stop", "harbor", "test tube", "train station", "zoo"),
         layout="folder of classes", samples=5, classes=["bus stop", "harbor", "test tube", "train station", "zoo"]),
    Case("a train without a test", names("{}/1.jpg", "bus_stop", "train_station"), layout="folder of classes", samples=2,
         classes=["bus_stop", "train_station"]),
    Case("seg_train, seg_test (Intel scenes)", names("seg_train/seg_train/{}/1.jpg", "forest", "sea")
         + names("seg_test/seg_test/{}/1.jpg", "forest", "sea"), refused="the folder 'seg_test' is called like a part of a data set",
         hint="give './seg_train/seg_train' as the data set, if its folders are classes"),
    Case("train_frames, train_masks", names("{}/1.png", *(f"{part}_{kind}/{part}" for part in ("train", "val") for kind in ("frames", "masks"))),
         refused="the folder 'train_masks' is called like a part of a data set", hint="data.images=NAME data.masks=train_masks"),
    Case("train_frames, train_masks, as told", dict.fromkeys(names("{0}_frames/{0}/1.png", "train", "val"))
         | dict.fromkeys(names("{0}_masks/{0}/1.png", "train", "val"), MASK), "data.images=train_frames", "data.masks=train_masks",
         layout=PAIR, samples=1, found="images in 'train_frames', masks in 'train_masks', as set"),
    Case("Caltech-101", names("101_ObjectCategories/{}/image_1.jpg", "BACKGROUND_Google", "accordion") + ["Annotations/accordion/a.mat"],
         refused="the data set seems to be './101_ObjectCategories'", hint="give './101_ObjectCategories' as the data set"),
    Case("DTD: labels/ has lists", names("images/{}/1.jpg", "banded", "dotted") + ["labels/train1.txt"],
         refused="'labels' beside the images holds .txt files", hint="'./images' as the data set loads the images alone, and without the setting its "
         "folders are classes"),
    Case("unpacked twice", names("{}/1.jpg", "yes", "no", "brain/yes", "brain/no"),
         refused="the folder 'brain' in '.' has 2 folders that are called like those beside it",
         hint=["give './brain' as the data set, or move it away", "data.layout=classes"]),
    Case("one folder called alike", names("{}/1.jpg", "yes", "no", "maybe/yes"), layout="folder of classes", samples=3,
         classes=["maybe", "no", "yes"]),
    Case("letters of classes (SUN)", names("{}/1.jpg", "a/abbey", "a/airport", "b/bar"),
         refused="the folders 'a' to 'b' in '.' are letters", hint=["move the folders of all letters into one", "data.layout=classes"]),
    Case("letters that are classes", names("{}/1.jpg", "a/big", "a/small", "b/big"), layout="folder of classes", samples=3, classes=["a", "b"]),
    Case("folders of systems", names("{}/1.jpg", "cat", "dog", "@eaDir", "__MACOSX/cat", "$RECYCLE.BIN", "dog/@eaDir"),
         layout="folder of classes", samples=2, classes=["cat", "dog"]),
    Case("gt_NAME beside NAME (KITTI road)", names("training/image_2/um_{}.png", *"123") + names("training/gt_image_2/um_road_{}.png", *"123"),
         refused="images in 'image_2' with masks in 'gt_image_2', whose names match", hint="data.images=image_2 data.masks=gt_image_2"),
    Case("NAME_mask beside NAME", names("{}.png", *(f"{folder}/{i}{folder[0]}" for i in "123" for folder in ("scans", "scans_mask"))),
         refused="images in 'scans' with masks in 'scans_mask'", hint="data.images=scans data.masks=scans_mask"),
    Case("other endings of names (Potsdam)", names("RGB/top_2_1{}_RGB.png", *"123") + names("Labels_all/top_2_1{}_gtmap.png", *"123"),
         refused="images in 'RGB' with masks in 'Labels_all', whose file names match", hint="data.images=RGB data.masks=Labels_all"),
    Case("label in the name of a class", names("{}.png", *(f"label_a/a_{i}" for i in "123"), *(f"paper/p_{i}" for i in "123")),
         layout="folder of classes", samples=6, classes=["label_a", "paper"]),
    Case("classes in each, with a word for masks (PlantVillage)", [f"{kind}/{name}/{i}.jpg" for kind in ("color", "segmented") for name in
                                                                  ("healthy", "scab") for i in "123"],
         refused="images in 'color' with masks in 'segmented'", hint="give './color' as the data set, if its folders are classes"),
]

MASKS = [
    Case("a suffix that no rule knows", {"images/1.jpg": None, "images/2.jpg": None, "masks/1.jpg.png": MASK, "masks/2.jpg.png": MASK},
         refused="'1.png' does not exist, but '1.jpg.png' does", hint="data.mask_suffix=.jpg, if they are masks"),
    Case("a suffix that no rule knows, as told", {"images/1.jpg": None, "images/2.jpg": None, "masks/1.jpg.png": MASK,
                                                  "masks/2.jpg.png": MASK}, "data.mask_suffix=.jpg", layout=PAIR, samples=2,
         found="'x' has the mask 'x.jpg'"),
    Case("a prefix that no rule knows", {"images/1.jpg": None, "masks/gtmap-1.png": MASK}, refused="'gtmap-1.png' does",
         hint="data.mask_prefix=gtmap-, if they are masks"),
    Case("names with a number each (Label Studio)", {"images/1.jpg": None, "images/2.jpg": None, "images/3.jpg": None, **dict.fromkeys(
        (f"labels/task-{i}-by-9-tag-0{i}.png" for i in "123"), MASK)}, refused="no image of 3 has a mask",
         hint="a mask has the name of its image"),
    Case("Potsdam, as told", {"RGB/a_RGB.png": None, "Labels/a_label.png": MASK}, "data.images=RGB", "data.masks=Labels", layout=PAIR,
         samples=1, found="'x_RGB' has the mask 'x_label'"),
    Case("DRIVE", {**dict.fromkeys(names("{0}/images/1_{0}.png", "training", "test")), "training/1st_manual/1_manual1.png": MASK,
                   "training/mask/1_training_mask.png": MASK}, "data.masks=1st_manual", layout=f"{PAIR} in training/", samples=1,
         parts=["train", "test"], found="'x_training' has the mask 'x_manual1'"),
    Case("Cityscapes, coarse", {f"leftImg8bit/train/ulm/{i}_leftImg8bit.png": None for i in "12"}
         | {f"gtCoarse/train/ulm/{i}_gtCoarse_labelIds.png": MASK for i in "12"}, layout=f"{PAIR} in train/", samples=2, parts=["train"],
         found="'x_leftImg8bit' has the mask 'x_gtCoarse_labelIds'"),
    Case("Oxford pets", PETS, refused="'trimaps/pug_1.png' does", hint="data.masks=annotations/trimaps"),
    Case("Oxford pets, as told", PETS, "data.masks=annotations/trimaps", layout=PAIR, samples=2,
         found="images in 'images', masks in 'annotations/trimaps', as set"),
    Case("Stanford dogs: files without extension", {"Images/n1/a.jpg": None, "Images/n2/b.jpg": None, "Annotation/n1/a": "<annotation/>",
                                                     "Annotation/n2/b": "<annotation/>"},
         refused="found no images in './Annotation'", hint="if there are no masks, give './Images' as the data set"),
    Case("DeepGlobe: a table and parts", SATELLITE, refused="the list 'metadata.csv', or parts of a data set",
         hint="data.layout=list or data.layout=parts"),
    Case("DeepGlobe, as told", SATELLITE, "data.layout=parts", layout=f"{PAIR} in train/", samples=2, parts=["train", "val"],
         found="'x_sat' has the mask 'x_mask'"),
    *(Case(f"masks as {kind}", {"images/a.jpg": None, f"masks/a.{kind}": "x"}, refused=f"but 1 .{kind} file: unsupported format",
           hint="convert them to PNG") for kind in ("gif", "bmp", "tif", "webp", "heif")),
]

IMAGES = names("img_align_celeba/{}.jpg", "000001", "000002", "000003")
CELEBA = {**dict.fromkeys(IMAGES), "list_attr_celeba.csv": rows("image_id,Bald,Young", "000001.jpg,-1,1", "000002.jpg,1,1", "000003.jpg,-1,-1"),
          "list_bbox_celeba.csv": rows("image_id,x_1,y_1,width,height", "000001.jpg,1,2,3,4"),
          "list_eval_partition.csv": rows("image_id,partition", "000001.jpg,0", "000002.jpg,1", "000003.jpg,2")}
TEXTS = {**dict.fromkeys(IMAGES),
         "list_attr_celeba.txt": rows("3", "5_o_Clock_Shadow Bald Young ", "000001.jpg -1  1 -1", "000002.jpg  1 -1 -1", "000003.jpg -1 -1  1"),
         "list_eval_partition.txt": rows("000001.jpg 0", "000002.jpg 1", "000003.jpg 2"),
         "identity_CelebA.txt": rows("000001.jpg 1", "000002.jpg 0", "000003.jpg 1"),
         "list_landmarks_align_celeba.txt": rows("3", "nose_x nose_y", "000001.jpg 4  5", "000002.jpg 3 3", "000003.jpg 4 4"),
         "list_bbox_celeba.txt": rows("3", "image_id x_1 y_1 width height", "000001.jpg    95  71 226 313")}
PARTS = {f"{part}/{i}.jpg": None for part in ("train", "valid") for i in "01"}
ONE_HOT = rows("filename, cat, dog, bird", "0.jpg, 1, 1, 0", "1.jpg, 0, 1, 0")

TABLES = [
    Case("CelebA: parts in another table", CELEBA, refused="the parts of the data set are in another table, 'list_eval_partition.csv'",
         hint=["as 'split', with train, val and test", "data.columns='split=none'"]),
    Case("CelebA, all rows", CELEBA, "data.columns=split=none", layout="list of images", samples=3, classes=["Bald", "Young"],
         found="several labels: 2 columns of 0 and 1", left_out={"tables beside the list: not read": 1}),
    Case("CelebA's text files", TEXTS, refused=["'./list_attr_celeba.txt' is a table as CelebA has them, which is not read"],
         hint="sed -n 2p"),
    Case("CelebA's text files in Anno/", {"Img/" + name if "/" in name else "Anno/" + name: data for name, data in TEXTS.items()},
         refused="'./Anno/list_attr_celeba.txt' is a table as CelebA has them", hint="> labels.csv"),
    Case("CelebA's landmarks", TEXTS, root="list_landmarks_align_celeba.txt", refused="is a table as CelebA has them", hint="sed -n 2p"),
    Case("CelebA's boxes", TEXTS, root="list_bbox_celeba.txt", refused="is CelebA's table of boxes", hint="object detection"),
    Case("CelebA's identities", TEXTS, root="identity_CelebA.txt", refused="the parts of the data set are in another table",
         hint="data.columns='split=none'"),
    Case("CelebA's identities, all rows", TEXTS, "data.columns=split=none", root="identity_CelebA.txt", layout="list of images without header",
         samples=3, class_count=2, left_out={"tables beside the list: not read": 1}),
    Case("WFLW's text files", {"WFLW_images/0--Parade/1.jpg": None, "list_98pt_train.txt": " ".join(["10.5"] * 196) + " 1 2 3 4 0 0 0--Parade/1.jpg\n"},
         root="list_98pt_train.txt", refused="is a table with points first and the file last (WFLW)", hint="file,p0_x,p0_y"),
    Case("DICOM files", {"train/1.dcm": "x"}, refused="found no images in '.', but 1 .dcm file", hint="pydicom"),
    Case("MNIST as a table", {"train.csv": rows("label," + ",".join(f"pixel{i}" for i in range(9)), *(",".join("0" * 10) for _ in range(80)))},
         refused="its columns are the pixels of an image in each row", hint="as a PNG file into a folder per class"),
    Case("a series with a pixel", {"a.csv": rows("pixel1,speed,wind,target", *("1,2,3,4" for _ in range(80)))}, layout="series", samples=21),
    Case("points and pixels in one table", {"training.csv": rows("left_eye_x,left_eye_y,Image", *("1.5,2.5," + " ".join("1" * 99) for _ in range(3)))},
         refused="the column 'Image' has pixels as numbers: images must be files", hint="write each row's pixels as a PNG file"),
    Case("Roboflow's several labels", PARTS | {"train/_classes.csv": ONE_HOT, "valid/_classes.csv": ONE_HOT},
         refused="the labels are names, and train/ and val/ could number them differently", hint="put a classes.txt"),
    Case("Roboflow's several labels, named", PARTS | {"train/_classes.csv": ONE_HOT, "valid/_classes.csv": ONE_HOT, "classes.txt": "bird\ncat\ndog\n"},
         layout="list of images in train/", samples=2, classes=["bird", "cat", "dog"], parts=["train", "val"],
         found="several labels: 3 columns of 0 and 1"),
    Case("Roboflow's masks", {**{f"train/{i}.jpg": None for i in "01"}, **{f"train/{i}_mask.png": MASK for i in "01"},
                              "train/_classes.csv": rows("Pixel Value, Class", "0, background", "1, road")},
         layout=f"{PAIR} in train/", samples=2, parts=["train"], found="images and masks side by side", left_out={"csv files: not images": 1}),
]


class CelebA(Workspace):
    def test_hint(self):
        """The command that the hint has makes a list that is read, with its labels; the documented one adds the parts."""
        Case("", TEXTS).build(self.folder)
        hint = self.stoker("load", ".").stderr.partition("write it as CSV: ")[2].strip()
        subprocess.run(["sh", "-c", hint], cwd=self.folder, check=True)
        self.assertEqual((self.folder / "labels.csv").read_text(), rows("image_id,5_o_Clock_Shadow,Bald,Young", "000001.jpg,-1,1,-1",
                                                                        "000002.jpg,1,-1,-1", "000003.jpg,-1,-1,1"))
        self.assertIn("list_eval_partition.txt", self.stoker("load", ".").stderr)
        docs = (pathlib.Path(__file__).parents[2] / "docs/lists.md").read_text()
        parts = docs.partition("{ echo split;")[1] + docs.partition("{ echo split;")[2].partition("```")[0]
        subprocess.run(["sh", "-c", parts], cwd=self.folder, check=True)
        for part, attribute in (("train", "Bald"), ("val", "5_o_Clock_Shadow"), ("test", "Young")):
            done = self.stoker("stats", ".", "--json", "data.part=" + part)
            found = json.loads(done.stdout)
            self.assertEqual({row["name"]: row["count"] for row in found["classes"] if row["count"]}, {attribute: 1}, done.stderr)


class Doubts(unittest.TestCase):
    def test_folders_that_are_no_classes(self):
        run_cases(self, CLASSES)

    def test_masks(self):
        run_cases(self, MASKS)

    def test_tables(self):
        run_cases(self, TABLES)


if __name__ == "__main__":
    unittest.main()
