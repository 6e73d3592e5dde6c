#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of images, masks, classes and parts, by the names that people give them."""
import json
import unittest

import small_data
from layout_case import MASK, Case, Workspace, names, run_cases

PAIR = "images and masks"


def masks(*paths):
    return {path: MASK for path in paths}


def pairs(images, mask_pattern, keys=("a", "b"), extension="png"):
    """Images in one pattern and their masks in another."""
    return {**{images.format(key): None for key in keys}, **masks(*names(mask_pattern, *keys))}


NAMED_PAIRS = [
    Case("images and masks", pairs("images/{}.png", "masks/{}.png"), layout=PAIR, samples=2,
         found="images in 'images', masks in 'masks'; the same names"),
    Case("image and mask", pairs("image/{}.jpg", "mask/{}.png"), layout=PAIR, samples=2,
         found="images in 'image', masks in 'mask'"),
    Case("imgs and labels", pairs("imgs/{}.png", "labels/{}.png"), layout=PAIR, samples=2,
         found="images in 'imgs', masks in 'labels'"),
    Case("Images and GT, in any case", pairs("Images/{}.png", "GT/{}.png"), layout=PAIR, samples=2,
         found="images in 'Images', masks in 'GT'"),
    Case("img_dir and ann_dir", pairs("img_dir/{}.png", "ann_dir/{}.png"), layout=PAIR, samples=2,
         found="images in 'img_dir', masks in 'ann_dir'"),
    Case("input and target", pairs("input/{}.png", "target/{}.png"), layout=PAIR, samples=2,
         found="images in 'input', masks in 'target'"),
    Case("CelebA-HQ with merged masks", pairs("CelebA-HQ-img/{}.png", "CelebAMask-HQ-mask/{}.png"), layout=PAIR,
         samples=2, found="images in 'CelebA-HQ-img'"),
    Case("images at the top, masks in masks/", pairs("{}.png", "masks/{}.png"), layout=PAIR, samples=2,
         found="images in '.', masks in 'masks'"),
    Case("settings name both", pairs("left/{}.png", "right/{}.png"), "data.images=left", "data.masks=right",
         layout=PAIR, samples=2, found="images in 'left', masks in 'right', as set"),
    Case("a setting names the masks", pairs("images/{}.png", "coarse/{}.png"), "data.masks=coarse", layout=PAIR,
         samples=2, found="images in 'images', masks in 'coarse', as set"),
    Case("images around the masks, as set", pairs("{}.png", "truth/{}.png"), "data.images=.", "data.masks=truth",
         layout=PAIR, samples=2, found="images in '.', masks in 'truth', as set"),
    Case("an image next to the folders", pairs("images/{}.png", "masks/{}.png") | {"collage.jpg": None}, layout=PAIR, samples=2,
         found="images in 'images'", left_out={"images next to the folders that are read": 1}),
    Case("input and output", pairs("input/{}.png", "output/{}.png"), layout=PAIR, samples=2, found="images in 'input', masks in 'output'"),
    Case("a setting that names nothing", pairs("images/{}.png", "masks/{}.png"), "data.masks=mask",
         refused="data.masks = 'mask': there is no such folder", hint="the name of a folder in data.root"),
    Case("letters are classes", names("{}/1.png", "w", "x", "y"), layout="folder of classes", samples=3,
         classes=["w", "x", "y"]),
    Case("x and y alone are a pair", pairs("x/{}.png", "y/{}.png"), layout=PAIR, samples=2, found="images in 'x'"),
    Case("x and y, extensions in capitals", pairs("x/{}.NPY", "y/{}.png"), layout=PAIR, samples=2, found="images in 'x'"),
]

FURTHER = (pairs("benign/benign ({}).png", "benign/benign ({})_mask.png") | pairs("normal/{}.png", "normal/{}_mask.png")
           | masks("benign/benign (a)_mask_1.png", "benign/benign (a)_mask_2.png", "normal/b_mask (1).png"))

SUFFIXES = [
    Case("x_mask in a folder of masks", pairs("images/{}.jpg", "masks/{}_mask.png"), layout=PAIR, samples=2,
         found="'x' has the mask 'x_mask'"),
    Case("mask_x in a folder of masks", pairs("img/{}.png", "ann/mask_{}.png"), layout=PAIR, samples=2,
         found="'x' has the mask 'mask_x'"),
    Case("x_image and x_mask", pairs("images/{}_image.png", "masks/{}_mask.png"), layout=PAIR, samples=2,
         found="'x_image' has the mask 'x_mask'"),
    Case("image_1 and label_1", pairs("images/image_{}.png", "labels/label_{}.png", "12"), layout=PAIR, samples=2,
         found="'image_x' has the mask 'label_x'"),
    Case("Cityscapes", {**pairs("leftImg8bit/train/bonn/{}_leftImg8bit.png",
                                "gtFine/train/bonn/{}_gtFine_labelIds.png"),
                        **masks("gtFine/train/bonn/a_gtFine_color.png", "gtFine/train/bonn/b_gtFine_color.png"),
                        "leftImg8bit/val/ulm/c_leftImg8bit.png": None,
                        "gtFine/val/ulm/c_gtFine_labelIds.png": MASK,
                        "gtFine/train/bonn/a_gtFine_polygons.json": "{}"},
         layout=PAIR + " in train/", samples=2, parts=["train", "val"],
         left_out={"masks without an image": 2, "json files: not images": 1},
         found="'x_leftImg8bit' has the mask 'x_gtFine_labelIds'"),
    Case("Cityscapes with two kinds of ids", pairs("leftImg8bit/{}_leftImg8bit.png", "gtFine/{}_gtFine_labelIds.png")
         | masks(*names("gtFine/{}_gtFine_labelTrainIds.png", "a", "b")), refused="masks can be paired in two ways",
         hint="data.mask_suffix=_gtFine_labelTrainIds or data.mask_suffix=_gtFine_labelIds"),
    Case("Cityscapes, as told", pairs("leftImg8bit/{}_leftImg8bit.png", "gtFine/{}_gtFine_labelIds.png")
         | masks(*names("gtFine/{}_gtFine_labelTrainIds.png", "a", "b")), "data.mask_suffix=_gtFine_labelIds", layout=PAIR,
         samples=2, left_out={"masks without an image": 2}, found="'x_leftImg8bit' has the mask 'x_gtFine_labelIds'"),
    Case("CamVid", pairs("train/{}.png", "train_labels/{}_L.png") | pairs("val/{}.png", "val_labels/{}_L.png", "c"),
         layout=PAIR + " in train/", samples=2, parts=["train", "val"], found="'x' has the mask 'x_L'"),
    Case("side by side", pairs("{}.jpg", "{}_mask.png"), layout=PAIR, samples=2,
         found="images and masks side by side; 'x' has the mask 'x_mask'"),
    Case("side by side, an image deleted", pairs("{}.jpg", "{}_mask.png", "abg")
         | masks("c_mask.png", "d_mask.png") | {"f.jpg": None}, layout=PAIR, samples=4, unmasked=1,
         left_out={"masks without an image": 2}, found="'x' has the mask 'x_mask'"),
    Case("side by side, images called like masks", pairs("{}_mask.jpg", "{}_mask_mask.png"), layout=PAIR, samples=2,
         found="'x' has the mask 'x_mask'"),
    Case("side by side, replaced", pairs("{}_sat.jpg", "{}_mask.png"), layout=PAIR, samples=2,
         found="'x_sat' has the mask 'x_mask'"),
    Case("side by side below images/", pairs("images/{}.png", "images/{}_seg.png"), layout=PAIR, samples=2,
         found="'x' has the mask 'x_seg'"),
    Case("a suffix that is set", pairs("all/{}.png", "all/{}-annotated.png"), "data.images=all",
         "data.mask_suffix=-annotated", layout=PAIR, samples=2, found="'x' has the mask 'x-annotated'"),
    Case("a suffix that is set, flat", pairs("{}.png", "{}-s.png"), "data.mask_suffix=-s", layout=PAIR, samples=2,
         found="'x' has the mask 'x-s'"),
    Case("a prefix that is set", pairs("images/{}.png", "masks/m.{}.png"), "data.mask_prefix=m.", layout=PAIR,
         samples=2, found="'x' has the mask 'm.x'"),
    Case("a suffix that no mask has", pairs("images/{}.png", "masks/{}.png"), "data.mask_suffix=_mask",
         refused="no image of 2 has a mask", hint="data.mask_suffix"),
    Case("two kinds of masks", pairs("images/{}.png", "masks/{}_mask.png") | masks("masks/a_gt.png", "masks/b_gt.png"),
         refused="masks can be paired in two ways", hint=["data.mask_suffix=_mask", "data.mask_suffix=_gt"]),
    Case("few masks beside many images", pairs("{}.png", "{}_mask.png", "a") | dict.fromkeys(names("{}.png", *"bcdef")),
         refused=["can be read in two ways", "1 of 6"], hint=["data.layout=pairs", "data.layout=images"]),
    Case("few masks, read as images", pairs("{}.png", "{}_mask.png", "a") | dict.fromkeys(names("{}.png", *"bcdef")),
         "data.layout=images", layout="folder of images", samples=6, left_out={"masks beside images": 1}),
    Case("classes with masks beside (BUSI)", pairs("benign/{}.png", "benign/{}_mask.png")
         | pairs("normal/{}.png", "normal/{}_mask.png"),
         refused=["can be read in two ways", "a folder of classes without these masks"],
         hint=["data.layout=pairs", "data.layout=classes"]),
    Case("classes with masks beside, as classes", pairs("benign/{}.png", "benign/{}_mask.png")
         | pairs("normal/{}.png", "normal/{}_mask.png"), "data.layout=classes", layout="folder of classes", samples=4,
         classes=["benign", "normal"], left_out={"masks beside images": 4}),
    Case("several masks of an image (BUSI), as classes", FURTHER, "data.layout=classes", layout="folder of classes", samples=4,
         classes=["benign", "normal"], left_out={"masks beside images": 4, "further masks of an image": 3}),
    Case("several masks of an image (BUSI), as pairs", FURTHER, "data.layout=pairs", layout=PAIR, samples=4, found="side by side",
         left_out={"further masks of an image": 3}),
    Case("classes with masks beside, as pairs", pairs("benign/{}.png", "benign/{}_mask.png")
         | pairs("normal/{}.png", "normal/{}_mask.png"), "data.layout=pairs", layout=PAIR, samples=4,
         found="side by side"),
    Case("Carvana: masks are .gif", {"images/a.jpg": None, "masks/a_mask.gif": "GIF89a"},
         refused="1 .gif file: unsupported format", hint="convert them to PNG"),
]

PARTS = [
    Case("train and val of classes", names("train/{}/1.png", "cat", "dog") + names("val/{}/2.png", "cat", "dog"),
         layout="folder of classes in train/", samples=2, classes=["cat", "dog"], parts=["train", "val"]),
    Case("train, valid and test", names("train/{}/1.png", "cat", "dog") + ["valid/cat/2.png", "test/cat/3.png"],
         layout="folder of classes in train/", samples=2, classes=["cat", "dog"], parts=["train", "val", "test"]),
    Case("valid is the part val", names("train/{}/1.png", "cat", "dog") + ["valid/cat/2.png", "test/cat/3.png"],
         "data.part=val", layout="folder of classes in valid/", samples=1, classes=["cat", "dog"],
         parts=["train", "val", "test"]),
    Case("test is held out", names("training/{}/1.png", "cat", "dog") + ["testing/dog/3.png"], "data.part=test",
         layout="folder of classes in testing/", samples=1, classes=["cat", "dog"], parts=["train", "test"]),
    Case("without val the training part is split", names("train/cat/{}.png", *"1234") + names("test/cat/{}.png", *"56"),
         "data.val_split=0.25", layout="folder of classes in train/", samples=3, of=4, classes=["cat"],
         parts=["train", "test"]),
    Case("its validation samples are of the training part", names("train/cat/{}.png", *"1234") + ["test/cat/5.png"],
         "data.val_split=0.25", "data.part=val", layout="folder of classes in train/", samples=1, of=4,
         classes=["cat"], parts=["train", "test"]),
    Case("images next to parts", names("train/{}/1.png", "cat", "dog") + ["a.png", "b.jpg"], layout="folder of classes in train/",
         samples=2, classes=["cat", "dog"], parts=["train"], left_out={"images next to the folders that are read": 2}),
    Case("dev/ beside train/ may be a class", names("train/{}/1.png", "cat", "dog") + ["dev/cat/2.png"],
         refused="parts of a data set ('train'), or a folder of classes ('dev', 'train')", hint="data.layout=parts"),
    Case("dev/ is not read as a part", names("train/{}/1.png", "cat", "dog") + ["dev/cat/2.png"], "data.layout=parts",
         layout="folder of classes in train/", samples=2, classes=["cat", "dog"], parts=["train"],
         left_out={"folders that are not read": 1}),
    Case("dev/ may be a class", names("{}/1.png", "dev", "prod"), layout="folder of classes", samples=2, classes=["dev", "prod"]),
    Case("train alone", names("train/{}/1.png", "cat", "dog"), layout="folder of classes in train/", samples=2,
         classes=["cat", "dog"], parts=["train"]),
    Case("no training part", names("val/{}/1.png", "cat", "dog") + ["test/cat/1.png"],
         refused="has no part 'train': only val and test", hint="give the folder of the training set as the data set"),
    Case("no test part", names("train/{}/1.png", "cat", "dog") + ["val/cat/1.png"], "data.part=test",
         refused="has no part 'test': only train and val", hint="data.part=train"),
    Case("no parts at all", names("{}/1.png", "cat", "dog"), "data.part=test", refused="there is no test set",
         hint="data.test_list"),
    Case("a test part that the list does not name (Kaggle)", dict.fromkeys(names("train/{}.png", *"12") + ["test/3.png"])
         | {"train.csv": "id,label\n1,x\n2,y\n"}, "data.part=test",
         refused=["there is no test set with labels", "does not name the images in './test'"],
         hint="stoker predict RUN ./test"),
    Case("all of a set with parts", names("train/{}/1.png", "cat", "dog") + ["test/cat/1.png"], "data.part=all",
         refused="has folders train and test: load one of them", hint="data.part=train or data.part=test"),
    Case("parts of pairs, and other folders", pairs("train/images/{}.png", "train/masks/{}.png")
         | pairs("val/images/{}.png", "val/masks/{}.png", "c") | {"notes/a.md": "", "train/xml/a.xml": ""},
         layout=PAIR + " in train/", samples=2, left_out={"folders that are not read": 2}, parts=["train", "val"], found="images in 'images', masks in 'masks'"),
    Case("a test part without masks", pairs("train/images/{}.png", "train/masks/{}.png") | {"test/images/c.png": None},
         "data.part=test", layout="folder of images in test/", samples=1, parts=["train", "test"]),
    Case("parts below (ADE20K)", pairs("images/training/{}.jpg", "annotations/training/{}.png")
         | pairs("images/validation/{}.jpg", "annotations/validation/{}.png", "c"), layout=PAIR + " in training/",
         samples=2, parts=["train", "val"], found="images in 'images', masks in 'annotations'"),
    Case("parts below (mmseg), val", pairs("img_dir/train/{}.png", "ann_dir/train/{}.png")
         | pairs("img_dir/val/{}.png", "ann_dir/val/{}.png", "c"), "data.part=val", layout=PAIR + " in val/",
         samples=1, parts=["train", "val"], found="images in 'img_dir'"),
    Case("parts below, as one set", pairs("images/train/{}.png", "masks/train/{}.png")
         | pairs("images/val/{}.png", "masks/val/{}.png", "c"), "data.layout=pairs", layout=PAIR, samples=3,
         found="the same names"),
    Case("parts below, everything", pairs("images/train/{}.png", "masks/train/{}.png")
         | pairs("images/val/{}.png", "masks/val/{}.png", "c"), "data.part=all", layout=PAIR, samples=3,
         parts=["train", "val"], found="the same names"),
    Case("train_images and train_masks", pairs("train_images/{}.png", "train_masks/{}.png") | {"test_images/c.png": None},
         layout=PAIR + " in train_images/", samples=2, parts=["train", "test"], found="masks in 'train_masks'"),
    Case("trainannot (SegNet)", pairs("train/{}.png", "trainannot/{}.png") | pairs("test/{}.png", "testannot/{}.png", "c"),
         "data.part=test", layout=PAIR + " in test/", samples=1, parts=["train", "test"],
         found="images in 'test', masks in 'testannot'"),
    Case("training_set/training_set", names("training_set/training_set/{}/1.png", "cat", "dog")
         + names("test_set/test_set/{}/2.png", "cat", "dog"), layout="folder of classes in training_set/", samples=2,
         classes=["cat", "dog"], parts=["train", "test"]),
    Case("a class called train", names("{}/1.png", "bus", "car", "train"),
         refused=["can be read in two ways", "parts of a data set ('train')", "a folder of classes ('bus', 'car'"],
         hint=["data.layout=parts", "data.layout=classes"]),
    Case("a class called train, as a class", names("{}/1.png", "bus", "car", "train"), "data.layout=classes",
         layout="folder of classes", samples=3, classes=["bus", "car", "train"]),
    Case("a class called train, as a part", names("{}/1.png", "bus", "car", "train"), "data.layout=parts",
         layout="folder of images in train/", samples=1, parts=["train"], left_out={"folders that are not read": 2}),
    Case("COCO: boxes beside parts", {"train2017/1.jpg": None, "val2017/2.jpg": None,
                                      "annotations/instances_train2017.json": "{}"},
         refused="'annotations' beside the images holds .json files", hint="data.layout=images"),
    Case("classes in parts with masks beside", pairs("train/cat/{}.png", "train/cat/{}_mask.png")
         | {"test/cat/c.png": None}, refused="can be read in two ways", hint="with './train' as the data set"),
    Case("pairs and classes in a part", pairs("train/images/{}.png", "train/masks/{}.png")
         | {"train/cat/c.png": None, "test/images/d.png": None}, refused="can be read in two ways",
         hint="data.layout=pairs or data.layout=classes, with './train' as the data set"),
    Case("named folders in parts", pairs("train/a/{}.png", "train/b/{}.png") | pairs("val/a/{}.png", "val/b/{}.png", "c"),
         "data.images=a", "data.masks=b", layout=PAIR + " in train/", samples=2, parts=["train", "val"],
         found="images in 'a', masks in 'b', as set"),
    Case("a list beside parts", dict.fromkeys(names("{}/1.png", "train", "test")) | {"labels.csv": "file,label\ntrain/1.png,0\n"},
         refused=["can be read in two ways: the list 'labels.csv'", "parts of a data set ('train'"],
         hint="data.layout=list or data.layout=parts"),
    Case("a data set in a folder of its own", pairs("VOC2012/JPEGImages/{}.jpg", "VOC2012/SegmentationClass/{}.png"),
         refused="holds nothing but the folder 'VOC2012', which looks like a data set itself", hint="give './VOC2012' as the data set"),
    Case("runs of stoker train beside classes", dict.fromkeys(names("{}/1.png", "cat", "dog")) | dict.fromkeys(
         ["runs/a/predictions.png", "other/predictions.png"]) | {f"{run}/{name}": "" for run in ("runs/a", "other")
         for name in ("config.yaml", "metrics.jsonl")},
         layout="folder of classes", samples=2, classes=["cat", "dog"], left_out={"folders of training runs": 2}),
    Case("an empty folder test beside classes", ["test/"] + names("{}/1.png", "cat", "dog"),
         layout="folder of classes", samples=2, classes=["cat", "dog"]),
]

NO_CLASSES = [
    Case("two data sets", pairs("a/images/{}.png", "a/masks/{}.png") | pairs("b/images/{}.png", "b/masks/{}.png"),
         refused=["the folder 'a' in '.' is not a class", "images in 'images' and masks in 'masks'"],
         hint=["give './a' as the data set", "data.layout=classes, if 'a' is a class"]),
    Case("two data sets with parts", names("{}/train/1.png", "a", "b") + names("{}/test/2.png", "a", "b"),
         refused=["the folder 'a' in '.' is not a class", "parts of a data set ('train' and 'test')"],
         hint="give './a' as the data set"),
    Case("two data sets, as classes", pairs("a/images/{}.png", "a/masks/{}.png") | {"b/images/1.png": None},
         "data.layout=classes", layout="folder of classes", samples=5, classes=["a", "b"]),
    Case("VOC, two folders deeper", pairs("VOCdevkit/VOC2012/JPEGImages/{}.jpg", "VOCdevkit/VOC2012/SegmentationClass/{}.png"),
         refused="has images in one folder alone, 'VOCdevkit'", hint="give './VOCdevkit/VOC2012' as the data set"),
    Case("Food-101, a folder deeper", dict.fromkeys(names("food-101/images/{}/1.jpg", "apple_pie", "baklava"))
         | {"food-101/meta/classes.txt": "apple_pie\n", "readme.txt": ""},
         refused="the data set seems to be './food-101/images'", hint="give './food-101/images' as the data set"),
    Case("Supervisely, a folder deeper", {"ds/img/0.jpg": None, "ds/ann/0.jpg.json": "{}", "meta.json": "{}"},
         refused="the data set seems to be './ds'", hint="give './ds' as the data set"),
    Case("one class", names("cat/{}.jpg", *"12"), layout="folder of classes", samples=2, classes=["cat"]),
    Case("folds of a cross-validation", names("fold_{}/cat/1.png", *"012") + names("fold_{}/dog/1.png", *"012"),
         refused="the folders 'fold_0' to 'fold_2' in '.' are called like parts of a cross-validation",
         hint=["give './fold_0' as the data set and data.val_root=./fold_2", "data.layout=classes"]),
    Case("splits of pairs", pairs("split1/images/{}.png", "split1/masks/{}.png")
         | pairs("split2/images/{}.png", "split2/masks/{}.png"), refused="called like parts of a cross-validation",
         hint="data.val_root=./split2"),
    Case("classes called fold", names("{}/1.png", "fold1", "fold2"), layout="folder of classes", samples=2,
         classes=["fold1", "fold2"]),
    Case("Data Science Bowl", {"stage1_train/a9/images/a9.png": None, "stage1_train/b9/images/b9.png": None,
                               "stage1_test/c9/images/c9.png": None,
                               **masks(*names("stage1_train/a9/masks/{}.png", "1", "2"), "stage1_train/b9/masks/3.png")},
         refused=["'./stage1_train' has a folder for each image, 'a9' and others", "a mask file for each object"],
         hint=["merge the masks", "data.layout=parts"]),
    Case("Data Science Bowl, test", names("stage1_train/{0}/images/{0}.png", "a9", "b9") + ["stage1_test/c9/images/c9.png"],
         "data.part=test", refused="'./stage1_test' has a folder for each image, 'c9' and others, which are not classes",
         hint="data.layout=images with './stage1_test' as the data set"),
    Case("a class called mask in parts", names("train/{}/1.png", "mask", "nomask") + names("test/{}/1.png", "mask", "nomask"),
         refused="the folder 'mask' in './train' is called like masks", hint="if 'mask' is a class: data.layout=parts"),
    Case("a class called mask in parts, as told", names("train/{}/1.png", "mask", "nomask")
         + names("test/{}/1.png", "mask", "nomask"), "data.layout=parts", layout="folder of classes in train/", samples=2,
         classes=["mask", "nomask"], parts=["train", "test"]),
    Case("its test part", names("train/{}/1.png", "mask", "nomask") + ["test/mask/1.png"], "data.layout=parts",
         "data.part=test", layout="folder of classes in test/", samples=1, classes=["mask", "nomask"],
         parts=["train", "test"]),
    Case("images and masks by other names (ISIC)", pairs("ISIC_Training_Input/{}.jpg", "ISIC_GroundTruth/{}_segmentation.png",
                                                         "abc"),
         refused=["can be read in two ways", "images in 'ISIC_Training_Input' with masks in 'ISIC_GroundTruth'"],
         hint="data.images=ISIC_Training_Input data.masks=ISIC_GroundTruth, or data.layout=classes"),
    Case("images and masks by other names, as told", pairs("Input/{}.jpg", "GroundTruth_1/{}_segmentation.png", "abc"),
         "data.images=Input", "data.masks=GroundTruth_1", layout=PAIR, samples=3, found="as set"),
    Case("frames and segmentation_maps", pairs("frames/{}.png", "segmentation_maps/{}.png", "abc"),
         refused="images in 'frames' with masks in 'segmentation_maps'", hint="data.images=frames"),
    Case("JPEG here and PNG there", pairs("sat/{}.jpg", "map/{}.png", "abc"),
         refused="images in 'sat' with masks in 'map'", hint="data.images=sat data.masks=map, or data.layout=classes"),
    Case("the same in parts", pairs("train/sat/{}.jpg", "train/map/{}.png", "abc"),
         refused="images in 'sat' with masks in 'map'", hint="data.images=sat data.masks=map, or data.layout=parts"),
    Case("in parts, as classes", pairs("train/sat/{}.jpg", "train/map/{}.png", "abc"), "data.layout=parts",
         layout="folder of classes in train/", samples=6, classes=["map", "sat"], parts=["train"]),
    Case("classes numbered alike", names("cat/{}.jpg", *"1234") + names("dog/{}.jpg", *"1234"),
         layout="folder of classes", samples=8, classes=["cat", "dog"]),
    Case("with_mask and without_mask, numbered alike", names("with_mask/{}.jpg", *"123") + names("without_mask/{}.jpg", *"123"),
         layout="folder of classes", samples=6, classes=["with_mask", "without_mask"]),
    Case("classes with a folder images each (Tiny ImageNet)", names("train/{}/images/1.png", "n01", "n02"),
         layout="folder of classes in train/", samples=2, classes=["n01", "n02"], parts=["train"]),
    Case("classes of folders", names("cat/{}/1.png", "2023", "2024") + names("dog/{}/1.png", "2023", "2024"),
         layout="folder of classes", samples=4, classes=["cat", "dog"]),
]

VOC_NAMES = ["background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
             "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"]
VOC_KEYS = ["2007_000001", "2007_000002", "2008_000003", "2008_000004"]
VOC = (pairs("JPEGImages/{}.jpg", "SegmentationClass/{}.png", VOC_KEYS)
       | masks("SegmentationObject/2007_000001.png", "SegmentationObject/2007_000002.png")
       | {"JPEGImages/2009_000001.jpg": None, "JPEGImages/2009_000002.jpg": None, "Annotations/2009_000001.xml": "<x/>",
          "ImageSets/Segmentation/train.txt": "2007_000001\n2007_000002\n", "ImageSets/Segmentation/val.txt": "2008_000003\n",
          "ImageSets/Segmentation/trainval.txt": "2007_000001\n2007_000002\n2008_000003\n", "ImageSets/Main/train.txt": "2009_000001\n"})

LISTED = [
    Case("VOC, train", VOC, layout=PAIR, samples=2, parts=["train", "val"], classes=VOC_NAMES,
         left_out={"images that no list of a part names": 3, "folders that are not read": 2}, found="VOC: JPEGImages, SegmentationClass, parts in"),
    Case("VOC, val", VOC, "data.part=val", layout=PAIR, samples=1, parts=["train", "val"], classes=VOC_NAMES,
         left_out={"images that no list of a part names": 3, "folders that are not read": 2}, found="VOC"),
    Case("VOC without lists", {name: data for name, data in VOC.items() if "ImageSets" not in name}, layout=PAIR,
         samples=4, classes=VOC_NAMES, left_out={"images without a mask": 2, "folders that are not read": 2}, found="VOC"),
    Case("VOC 2007", pairs("JPEGImages/{}.jpg", "SegmentationClass/{}.png", ["000032", "000033"]), layout=PAIR, samples=2,
         classes=VOC_NAMES, found="VOC: JPEGImages, SegmentationClass"),
    Case("other classes in VOC's folders (labelme2voc)", pairs("JPEGImages/{}.jpg", "SegmentationClass/{}.png", ["0001", "0002"]),
         layout=PAIR, samples=2, found="VOC: JPEGImages, SegmentationClass"),
    Case("labelme2voc", pairs("JPEGImages/{}.jpg", "SegmentationClass/{}.png") | masks("SegmentationClassPNG/a.png", "SegmentationClassNpy/a.npy")
         | {"SegmentationClassVisualization/a.jpg": None, "class_names.txt": "a\n"}, layout=PAIR, samples=2,
         left_out={"folders that are not read": 3}, found="VOC: JPEGImages, SegmentationClass"),
    Case("val_list", pairs("images/{}.png", "masks/{}.png", "abcd") | {"val.txt": "a\nimages/c.png\n"},
         "data.val_list=val.txt", layout=PAIR, samples=2, parts=["train", "val"], found="the same names"),
    Case("val_list, val", pairs("images/{}.png", "masks/{}.png", "abcd") | {"val.txt": "a\r\n\r\nc.png\r\n"},
         "data.val_list=val.txt", "data.part=val", layout=PAIR, samples=2, parts=["train", "val"],
         found="the same names"),
    Case("val_list and test_list of classes", dict.fromkeys(names("{}/1.png", *"abc") + names("{}/2.png", *"abc"))
         | {"v": "a/2\n", "t": "b/2.png\n"}, "data.val_list=v", "data.test_list=t", layout="folder of classes",
         samples=4, classes=["a", "b", "c"], parts=["train", "val", "test"], left_out={"other files: not images": 2}),
    Case("train_list leaves others out", dict.fromkeys(names("{}.png", *"abcd")) | {"t.lst": "a\nb\n"},
         "data.train_list=t.lst", layout="folder of images", samples=2, parts=["train"],
         left_out={"images that no list of a part names": 2, "lst files: not images": 1}),
    Case("val_list with an unknown name", pairs("images/{}.png", "masks/{}.png") | {"val.txt": "a\nzebra\n"},
         "data.val_list=val.txt", refused="1 name in 'val.txt' is not in the data set, 'zebra' first",
         hint="one sample a line"),
    Case("val_list and folders for parts", dict.fromkeys(names("train/{}/1.png", *"ab")) | {"val.txt": "a/1\n"},
         "data.val_list=val.txt", refused="the data set has folders for its parts", hint="data.layout"),
]

OTHERS = [
    Case("classes", names("{}/1.png", "cat", "dog"), layout="folder of classes", samples=2, classes=["cat", "dog"]),
    Case("images alone", names("{}.png", *"ab"), layout="folder of images", samples=2),
    Case("images below img/", names("img/{}.png", *"ab"), layout="folder of images", samples=2),
    Case("webp, tiff and avif among jpgs", names("cat/{}", "1.jpg", "2.webp", "3.webp", "4.TIFF", "5.avif") + ["dog/1.jpg", "dog/note.txt"],
         layout="folder of classes", samples=2, classes=["cat", "dog"],
         left_out={"webp files: unsupported format": 2, "tiff files: unsupported format": 1, "avif files: unsupported format": 1,
                   "txt files: not images": 1}),
    Case("hidden files are not counted", names("cat/{}", "1.png", ".DS_Store", ".2.png") + ["dog/1.png"],
         layout="folder of classes", samples=2, classes=["cat", "dog"]),
    Case("masks without images, images without masks", pairs("images/{}.png", "masks/{}.png", "abc")
         | masks("masks/z.png") | {"images/d.png": None}, layout=PAIR, samples=4,
         left_out={"masks without an image": 1}, unmasked=1, found="the same names"),
    Case("two files of one key", ["images/a.jpg", "images/a.png", "masks/a.png"],
         refused=["images/a.jpg'", "images/a.png'", "are the same sample"], hint="rename or remove one of them"),
    Case("images, masks and classes", pairs("images/{}.png", "masks/{}.png") | {"cat/1.png": None},
         refused=["can be read in two ways", "images in 'images' with masks in 'masks'",
                  "a folder of classes ('cat', 'images', 'masks')"], hint=["data.layout=pairs", "data.layout=classes"]),
    Case("images, masks and classes, as pairs", pairs("images/{}.png", "masks/{}.png") | {"cat/1.png": None},
         "data.layout=pairs", layout=PAIR, samples=2, found="the same names", left_out={"folders that are not read": 1}),
    Case("image and mask as classes", pairs("image/{}.png", "mask/{}.png"), "data.layout=classes",
         layout="folder of classes", samples=4, classes=["image", "mask"]),
    Case("masks among classes", names("{}/1.png", "cat", "dog", "masks"),
         refused="the folder 'masks' in '.' is called like masks", hint=["data.images=NAME", "data.layout=classes"]),
    Case("two folders of masks", pairs("images/{}.png", "masks/{}.png") | masks("labels/a.png"),
         refused=["masks in 'labels'", "masks in 'masks'"], hint="data.masks=labels or data.masks=masks"),
    Case("a list beside masks", pairs("images/{}.png", "masks/{}.png") | {"labels.csv": "file,label\na.png,0\nb.png,1\n"},
         refused=["can be read in two ways", "labels.csv"], hint="data.layout=list or data.layout=pairs"),
    Case("a list beside masks, as a list", pairs("images/{}.png", "masks/{}.png")
         | {"labels.csv": "file,label\na.png,0\nb.png,1\n"}, "data.layout=list", layout="list of images", samples=2,
         class_count=2),
    Case("a list beside masks, as pairs", pairs("images/{}.png", "masks/{}.png")
         | {"labels.csv": "file,label\na.png,0\nb.png,1\n"}, "data.layout=pairs", layout=PAIR, samples=2,
         found="the same names"),
    Case("YOLO boxes, as images", dict.fromkeys(names("images/{}.png", *"ab")) | {"labels/a.txt": "0 .5 .5 .1 .1\n"},
         "data.layout=images", layout="folder of images", samples=2, left_out={"txt files: not images": 1}),
    Case("YOLO boxes with parts", dict.fromkeys(names("images/{}/1.png", "train", "val"))
         | {"labels/train/1.txt": "0 .5 .5 .1 .1 .1 .1\n"}, refused="'./labels/train/1.txt' is a YOLO annotation", hint=["object detection is not supported", "data.layout=images"]),
    Case("its images alone", dict.fromkeys(names("images/{}/1.png", "train", "val"))
         | {"labels/train/1.txt": "0 .5 .5 .1 .1 .1 .1\n"}, "data.layout=images", root="images/train",
         layout="folder of images", samples=1),
    Case("boxes of VOC beside images", {"images/a.png": None, "annotations/a.xml": "<annotation/>"},
         refused="'./annotations/a.xml' is a VOC annotation", hint="data.layout=images"),
    Case("pairs are asked for", names("{}/1.png", "cat", "dog"), "data.layout=pairs",
         refused="data.layout = pairs, but", hint="data.masks=NAME"),
    Case("a list is asked for", names("{}/1.png", "cat", "dog"), "data.layout=list",
         refused="has no list of images", hint="labels.csv"),
    Case("a stray image beside classes", ["cat/1.png", "2.png"], refused="is next to class folders", hint="move it"),
]


class Folders(unittest.TestCase):
    def test_named_pairs(self):
        run_cases(self, NAMED_PAIRS)

    def test_suffixes(self):
        run_cases(self, SUFFIXES)

    def test_parts(self):
        run_cases(self, PARTS)

    def test_folders_that_are_no_classes(self):
        run_cases(self, NO_CLASSES)

    def test_lists_of_parts(self):
        run_cases(self, LISTED)

    def test_others(self):
        run_cases(self, OTHERS)

    def test_there_are_enough(self):
        self.assertGreaterEqual(sum(map(len, (NAMED_PAIRS, SUFFIXES, PARTS, LISTED, OTHERS))), 60)


class Training(Workspace):
    """What train and eval do with parts."""

    SMALL = ("data.image_size=32", "model.width=2", "train.epochs=1", "data.batch_size=2", "data.num_workers=0")

    def build(self, paths):
        Case("", dict.fromkeys(paths)).build(self.folder)

    def report(self, run):
        return json.loads((self.folder / run / "run.json").read_text())["data"]

    def test_test_is_neither_trained_nor_validated_on(self):
        self.build([f"d/{part}/{name}/{i}.png" for part, count in (("train", 4), ("valid", 2), ("test", 3))
                    for name in ("cat", "dog") for i in range(count)])
        done = self.stoker("train", "d", "--run", "r", *self.SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("named by the data set: train val test (held out)", done.stderr)
        data = self.report("r")
        self.assertEqual((data["samples"], data["val_samples"]), (8, 4))
        self.assertEqual(data["understood"]["parts"], ["train", "val", "test"])
        for settings, part, samples in (((), "val", 4), (("data.part=test",), "test", 6), (("data.part=train",), "train", 8)):
            done = self.stoker("eval", "r", "--json", *settings)
            report = json.loads(done.stdout)
            self.assertEqual((report["part"], report["samples"]), (part, samples))
        done = self.stoker("eval", "r", "data.part=test")
        self.assertIn("6 test samples of d/test", done.stdout)
        done = self.stoker("predict", "r", "d")
        self.assertIn("name the folders of the images that are meant, such as 'd/test'", done.stderr)
        done = self.stoker("predict", "r", "d/test")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_images_in_any_folders_are_predicted(self):
        self.build([f"d/{name}/{i}.png" for name in ("cat", "dog") for i in range(2)] + ["new/photos/2024/1.png"]
                   + ["folds/fold_1/x/1.png", "folds/fold_2/x/1.png", "each/a/images/a.png"])
        done = self.stoker("train", "d", "--run", "r", *self.SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        for folder in ("new", "folds", "each"):
            done = self.stoker("predict", "r", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
        Case("", pairs("two/a/images/{}.png", "two/a/masks/{}.png") | {"two/b/1.png": None}).build(self.folder)
        done = self.stoker("predict", "r", "two")
        self.assertIn("name the folders of the images that are meant", done.stderr)

    def test_without_val_the_training_part_is_split(self):
        self.build([f"d/{part}/{name}/{i}.png" for part in ("train", "test") for name in ("cat", "dog") for i in range(4)])
        done = self.stoker("train", "d", "--run", "r", "data.val_split=0.25", *self.SMALL)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = self.report("r")
        self.assertEqual((data["samples"], data["val_samples"]), (6, 2))
        done = self.stoker("train", "d", "--run", "none", *self.SMALL)
        self.assertEqual(self.report("none")["val_samples"], None, done.stderr)
        self.assertEqual(self.report("none")["samples"], 8)

    def test_a_class_of_val_alone_is_told(self):
        """train/dog and val/dogs: three classes, and a warning; not where train has them all, nor of val itself."""
        self.build([f"d/{name}/{i}.png" for name in ("train/cat", "train/dog", "val/cat", "val/dogs") for i in range(2)]
                   + [f"e/{name}/1.png" for name in ("train/cat", "train/dog", "val/cat")])
        warning = "1 of 3 classes has no images in 'd/train', only in another part of the data set: 'dogs'"
        for words, told in ((("train", "d", "--run", "r", *self.SMALL), True), (("load", "d"), True), (("load", "d", "data.part=val"), False),
                            (("load", "e"), False)):
            done = self.stoker(*words)
            self.assertEqual((done.returncode, warning in done.stderr), (0, told), done.stderr)

    def test_mixed_sizes_of_a_split_have_one_rule(self):
        for i in range(12):
            Case("", {f"d/{'cat' if i % 2 else 'dog'}/{i}.png": small_data.image(i, 16 + i)}).build(self.folder)
        sizes = set()
        for part in ("train", "val"):
            done = self.stoker("load", "d", "--json", "--stop-after", "0", "data.val_split=0.3", f"data.part={part}",
                               "data.dtype=f32", "data.split_seed=5")
            effects = json.loads(done.stdout)["effects"]
            sizes |= {str(row["in_effect"]) for row in effects if row["name"] == "data.image_size"}
        self.assertEqual(len(sizes), 1, sizes)
        done = self.stoker("train", "d", "--run", "r", "data.val_split=0.3", *self.SMALL[1:])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_settings_without_effect_are_told(self):
        done = self.stoker("load", "make:gray?count=4", "--json", "--stop-after", "0", "data.layout=classes",
                           "data.masks=m", "data.mask_suffix=_mask")
        rows = {row["name"]: row["why"] for row in json.loads(done.stdout)["effects"]}
        for name in ("data.layout", "data.masks", "data.mask_suffix"):
            self.assertIn("not used here: the data set is not a folder of images", rows[name])

    def test_a_pack_keeps_the_parts(self):
        self.build([f"d/{part}/{name}/{part}{i}.png" for part, count in (("train", 3), ("test", 2))
                    for name in ("cat", "dog") for i in range(count)])
        done = self.stoker("pack", "d", "p", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        for part, samples in (("train", 6), ("test", 4)):
            packed = json.loads(self.stoker("load", "p", "--json", "--hash", f"data.part={part}").stdout)
            plain = json.loads(self.stoker("load", "d", "--json", "--hash", f"data.part={part}").stdout)
            self.assertEqual((packed["samples"], packed["data"]["parts"]), (samples, ["train", "test"]))
            self.assertEqual(packed["digest"], plain["digest"])
        done = self.stoker("pack", "d", "p", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_pack_of_a_layout_that_is_set(self):
        Case("", pairs("d/images/{}.png", "d/masks/{}.png") | {"d/cat/1.png": None}).build(self.folder)
        self.assertIn("data.layout=pairs", self.stoker("pack", "d", "p", "-q").stderr)
        done = self.stoker("pack", "d", "p", "-q", "data.layout=pairs")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(self.stoker("load", "p", "--json").stdout)["samples"], 2)

    def test_a_state_of_the_old_reading(self):
        self.build([f"d/{part}/{i}.png" for part in ("train", "test") for i in range(4)])
        old = ("load", "d", "--state", "s.json", "--stop-after", "1", "data.batch_size=2")
        self.assertEqual(self.stoker(*old, "data.layout=classes").returncode, 0)
        done = self.stoker(*old)
        self.assertIn("the state belongs to another data set", done.stderr)
        self.assertIn("data.layout=classes", done.stderr.partition("hint:")[2])
        self.assertEqual(self.stoker(*old, "data.layout=classes").returncode, 0)


if __name__ == "__main__":
    unittest.main()
