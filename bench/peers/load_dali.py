"""NVIDIA DALI without a GPU: readers of files, decoders on the CPU with as many threads as there are CPUs.

It reads ahead of the next epoch while the others have their turn, so a batch or two of each epoch cost it nothing."""
import numpy
import nvidia.dali
from nvidia.dali import fn, pipeline_def, types


@pipeline_def
def decode(images, masks):
    options = {"random_shuffle": True, "seed": 1, "name": "images", "pad_last_batch": False}
    data, _ = fn.readers.file(files=images, **options)
    outputs = [fn.decoders.image(data, device="cpu", output_type=types.RGB)]
    if masks:  # the same seed: the same order
        data, _ = fn.readers.file(files=masks, **{**options, "name": "masks"})
        outputs.append(fn.decoders.image(data, device="cpu", output_type=types.GRAY))
    return tuple(outputs)


class Peer:
    def __init__(self, setup):
        self.setup = setup
        self.versions = f"DALI {nvidia.dali.__version__}"

    def open(self, case):
        images, masks = zip(*self.setup.pairs(case))
        pipeline = decode(list(images), list(masks) if masks[0] else None, batch_size=self.setup.batch,
                          num_threads=self.setup.cpus, device_id=None, prefetch_queue_depth=2)
        pipeline.build()
        return pipeline

    def batches(self, pipeline):
        """An epoch has whole batches of 32 and one that is short; DALI fills that up with the next epoch's first."""
        left = pipeline.epoch_size("images")
        while left > 0:
            arrays = [numpy.asarray(output.as_tensor()) for output in pipeline.run()]
            arrays = [array[:left] for array in arrays]
            left -= len(arrays[0])
            yield arrays[0], arrays[1][..., 0] if len(arrays) > 1 else None

    @staticmethod
    def close(_):
        """Its threads end with it."""
