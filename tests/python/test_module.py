# SPDX-License-Identifier: Apache-2.0
"""The Python module on the device of the job: operands of each kind and what of
them is copied, errors, life of arrays and queues, threads, layouts that do not
agree. Results of random cases: crosslane.verify()."""
import ctypes
import gc
import sys
import threading
import unittest

import crosslane as xl
import numpy as np
from crosslane import library

try:
    import pyopencl
    import pyopencl.array
except ImportError:
    pyopencl = None


def random(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


class Operands(unittest.TestCase):
    def test_numpy_in_numpy_out(self):
        a, b = random(8, 12), random(12, 6)
        c = xl.gemm(a, b)
        self.assertIsInstance(c, np.ndarray)
        np.testing.assert_allclose(c, a @ b, atol=1e-5)
        out = np.zeros((8, 6), np.float32)
        self.assertIs(xl.gemm(a, b, out=out), out)
        np.testing.assert_array_equal(out, c)
        xl.gemm(a, b, out=out, beta=1)
        np.testing.assert_allclose(out, 2 * c, atol=1e-5)

    def test_arrays_stay(self):
        q = xl.Queue()
        a, b = q.array(random(8, 12)), q.array(random(12, 6))
        before = q.bytes_copied
        c = xl.softmax(xl.gemm(a, b))
        self.assertIsInstance(c, xl.Array)
        self.assertEqual(q.bytes_copied, before)
        np.testing.assert_allclose(np.asarray(c).sum(-1), 1, atol=1e-5)
        self.assertEqual(q.bytes_copied, before + c.nbytes)

    def test_views(self):
        host = np.arange(2 * 6 * 8, dtype=np.float32).reshape(2, 6, 8)
        x = xl.default_queue().array(host)
        for index in (1, (0, 2), (slice(None), slice(1, 6, 2)),
                      (..., slice(3, None)), (None, 1, ..., 0), (1, 2, 3)):
            np.testing.assert_array_equal(x[index].numpy(), host[index])
            np.testing.assert_array_equal(x[index].copy().numpy(), host[index])
        np.testing.assert_array_equal(x.transpose(2, 0, 1).T.numpy(),
                                      host.transpose(2, 0, 1).T)
        np.testing.assert_array_equal(x[1].reshape(4, -1).numpy(),
                                      host[1].reshape(4, -1))
        for index in ([0, 1], slice(None, None, -1)):
            with self.assertRaises(IndexError):
                x[index]
        with self.assertRaises(IndexError):
            x[5]
        with self.assertRaises(ValueError):
            x.T.reshape(96)

    def test_types(self):
        q = xl.default_queue()
        x = np.array([1, 1 + 2 ** -8, -3.5], np.float32)  # a tie, to even
        self.assertEqual(q.array(x, "bf16").numpy().tolist(), [1, 1, -3.5])
        for dtype in (np.float16, np.int64, np.int32, np.int8,
                      np.uint32, np.uint16, np.uint8, np.bool_):
            host = np.array([0, 1, 1, 0], dtype)
            np.testing.assert_array_equal(q.array(host).numpy(), host)
        x = np.random.rand(5)
        np.testing.assert_array_equal(q.array(x, "f16").numpy(),
                                      x.astype(np.float16))
        bits = np.arange(16, dtype=np.uint8)
        a, b = (q.array(v.reshape(4, 4), "f8e5m2") for v in (bits, 60 + 0 * bits))
        np.testing.assert_array_equal(  # 60 is 1.0: the upper half of an f16
            xl.gemm(a, b).numpy(), (bits.astype(np.uint16) << 8).view(
                np.float16).astype("f4").reshape(4, 4) @ np.ones((4, 4), "f4"))
        with self.assertRaisesRegex(ValueError, "f8e5m2"):
            q.array(x, "f8e5m2")
        with self.assertRaisesRegex(TypeError, "int16.*float32"):
            xl.expr("x + 1", x=np.arange(3, dtype=np.int16))
        with self.assertRaisesRegex(TypeError, "list"):
            xl.gemm([[1.0]], [[1.0]])

    def test_in_place(self):
        q = xl.Queue()
        p, g = q.array(np.ones(5, np.float32)), q.array(random(5))
        self.assertIsNone(xl.expr("p = p - rate * g", p=p, g=g, rate=0.5))
        np.testing.assert_allclose(p.numpy(), 1 - 0.5 * random(5), atol=1e-6)
        host = random(5)
        xl.expr("x[:2] = 0; x[2:] = y", x=host, y=1.0)
        self.assertEqual(host.tolist(), [0, 0, 1, 1, 1])
        out = q.empty((5,), "f16")
        self.assertIs(xl.expr("t = p + 1; out = t * 2", p=p, out=out), out)
        self.assertEqual(xl.expr("p > 0", p=p).dtype, "bool")
        self.assertEqual(xl.expr("p", p=p, dtype="bf16").dtype, "bf16")

    def test_dlpack(self):
        class Foreign:  # an array of which only DLPack is known
            def __init__(self, array, device=1):
                self.array, self.device = array, device

            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.device, 0

        a, b = random(8, 12), random(12, 6)
        c = xl.gemm(Foreign(a), Foreign(b))
        np.testing.assert_array_equal(c, xl.gemm(a, b))
        with self.assertRaisesRegex(TypeError, "DLPack.*host"):
            xl.gemm(Foreign(a, device=2), b)

    def test_norms_and_attention(self):
        x = random(2, 3, 16)
        total = np.empty_like(x)
        y = xl.layer_norm(x, residual=x, sum=total)
        np.testing.assert_array_equal(total, 2 * x)
        np.testing.assert_allclose(y.mean(-1), 0, atol=1e-5)
        rows = np.empty((3, 5), np.float32)
        q, k = random(3, 5, 8), random(3, 7, 8)
        mask = np.float32([[0] * 6 + [-np.inf]])
        o = xl.attention(q, k, k, lse=rows, scale=1, mask=mask)
        p = np.exp(q @ k.swapaxes(-1, -2) + mask)
        np.testing.assert_allclose(rows, np.log(p.sum(-1)), rtol=1e-5)
        np.testing.assert_allclose(o, p / p.sum(-1, keepdims=True) @ k,
                                   atol=1e-5)

    def test_rotary(self):
        q, k, v = random(4, 3, 8), random(2, 3, 8), random(2, 3, 8)
        keys, values = np.zeros((2, 2, 7, 8), np.float32)
        o = xl.rotary(q, k, keys, 5, v, values, pairs="interleaved", base=100)
        at = np.arange(2, 5)[:, None] * 100 ** (-np.arange(4) / 4)
        turn = np.exp(1j * at)
        for x, found in ((q, o), (k, keys[:, 2:5])):
            y = (x[..., ::2] + 1j * x[..., 1::2]) * turn
            np.testing.assert_allclose(found[..., ::2], y.real, atol=1e-5)
            np.testing.assert_allclose(found[..., 1::2], y.imag, atol=1e-5)
        np.testing.assert_array_equal(values[:, 2:5], v)
        self.assertEqual(abs(keys[:, [0, 1, 5, 6]]).max(), 0)
        g = random(8)
        o = xl.rotary(q, k, keys, 5, pairs="none", q_norm=g, k_norm=2 * g,
                      norm_eps=0.5)
        for x, found, gain in ((q, o, g), (k, keys[:, 2:5], 2 * g)):
            mean = (x * x).mean(-1, keepdims=True)
            np.testing.assert_allclose(found, x * gain / np.sqrt(mean + 0.5),
                                       rtol=1e-5)
        with self.assertRaisesRegex(ValueError, "7 rows, n_kv is 8"):
            xl.rotary(q, k, keys, 8)

    def test_quantise(self):
        x = random(3, 256)
        for format, parts in (("q8_0", 1), ("mxfp4", 1), ("int4", 3),
                              ("fp8", 2), ("int8", 2)):
            made = xl.quantise(x, format, group=64, group_rows=2)
            made = made if isinstance(made, tuple) else (made,)
            self.assertEqual(len(made), parts)
            y = xl.dequantise(made[0], format, *made[1:], group=64,
                              group_rows=2)
            self.assertEqual(y.shape, x.shape)
            if format == "fp8":
                top = np.maximum.reduceat(abs(x), (0, 2), 0)
                top = top.reshape(2, 4, 64).max(2)
                np.testing.assert_allclose(made[1], top / 448, rtol=1e-6)
            self.assertLess(abs(x - y).max(), abs(x).max() / 3)
        d = made[0].view(np.int8) * made[1].astype(np.float32)
        np.testing.assert_array_equal(y, d)
        with self.assertRaisesRegex(xl.Error, "q4_k"):
            xl.quantise(x[:, :64], "q4_k")
        with self.assertRaisesRegex(ValueError, "no blocks"):
            xl.dequantise(made[0][:, :3], "q8_0")


@unittest.skipUnless(pyopencl, "python3-pyopencl not found")
class PyOpenCL(unittest.TestCase):
    def setUp(self):
        self.native = pyopencl.CommandQueue(pyopencl.Context(
            pyopencl.get_platforms()[0].get_devices()))
        self.q = xl.Queue(self.native)

    def test_no_byte_is_copied(self):
        a, b = random(8, 12), random(12, 6)
        x, y = (pyopencl.array.to_device(self.native, v) for v in (a, b))
        out = pyopencl.array.zeros(self.native, (8, 6), np.float32)
        self.assertIs(xl.gemm(x, y, out=out, queue=self.q), out)
        xl.expr("out = 2 * out", out=out, queue=self.q)
        part = xl.expr("x", x=x[2:5, 3:], queue=self.q)
        self.assertEqual(self.q.bytes_copied, 0)
        np.testing.assert_allclose(out.get(), 2 * a @ b, atol=1e-4)
        np.testing.assert_array_equal(part.numpy(), a[2:5, 3:])

    def test_buffers(self):
        host = random(4, 5)
        buffer = pyopencl.Buffer(
            self.native.context, pyopencl.mem_flags.READ_WRITE |
            pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=host)
        view = self.q.view(buffer, (2, 5), "f32", offset=10)
        xl.expr("x = -x", x=view)
        self.assertEqual(self.q.bytes_copied, 0)
        found = np.empty_like(host)
        pyopencl.enqueue_copy(self.native, found, buffer)
        np.testing.assert_array_equal(found, np.concatenate([host[:2],
                                                             -host[2:]]))
        ours = view.copy()
        theirs = pyopencl.MemoryObject.from_int_ptr(ours.int_ptr)
        self.assertEqual(theirs.size, 40)

    def test_queue_is_needed(self):
        x = pyopencl.array.to_device(self.native, random(3))
        with self.assertRaisesRegex(TypeError, "queue="):
            xl.expr("x + 1", x=x)

    def test_memory_of_another_context(self):
        x = pyopencl.array.to_device(self.native, random(3))
        with self.assertRaisesRegex(xl.Error, "XL_BAD_ARGUMENT.*context"):
            xl.expr("x + 1", x=x, queue=xl.default_queue())


class Errors(unittest.TestCase):
    def test_caret(self):
        with self.assertRaises(xl.Error) as raised:
            xl.expr("x + oops(x)", x=random(3))
        e = raised.exception
        self.assertEqual(e.name, "XL_BAD_ARGUMENT")
        line, caret = str(e).split("\n")[-2:]
        self.assertEqual(line.strip(), "x + oops(x)")
        self.assertEqual(line[caret.index("^"):], "oops(x)")

    def test_status(self):
        for name, call in (
                ("XL_BAD_ARGUMENT", lambda: xl.gemm(
                    random(2, 2), random(2, 2), variant="gemm_none")),
                ("XL_BAD_SCALAR", lambda: xl.gemm(
                    random(2, 2), random(2, 2), alpha=float("nan"))),
                ("XL_NO_DEVICE", lambda: xl.Queue("no such device")),
                ("XL_BAD_SHAPE", lambda: xl.conv2d(
                    random(1, 1, 2, 2), random(1, 1, 3, 3)))):
            with self.assertRaises(xl.Error) as raised:
                call()
            self.assertEqual(raised.exception.name, name)
            self.assertGreater(len(raised.exception.detail), 10)

    def test_arguments(self):
        x = random(4, 6)
        for call in (lambda: xl.gemm(x, x), lambda: xl.gemm(x, x.T, out=x),
                     lambda: xl.conv2d(x, x), lambda: xl.attention(x, x, x),
                     lambda: xl.gemm(x, x.T, accuracy="some"),
                     lambda: xl.conv2d(x, x, layout="chwn")):
            self.assertRaises(ValueError, call)
        with self.assertRaisesRegex(TypeError, "bias"):
            xl.gemm(x, x.T, bias=x)

    def test_wrong_results_are_found(self):
        case = xl.selfcheck.Case("x", np.float32([1, 2]), np.ones(2),
                                 np.zeros(2))
        with self.assertRaisesRegex(xl.Error, r"XL_WRONG_RESULT.*\(1,\)"):
            xl.selfcheck.judge(case)


class Lifetimes(unittest.TestCase):
    def test_array_outlives_queue(self):
        q = xl.Queue()
        a = q.array(random(8, 12))
        b = xl.gemm(a, random(12, 6))
        del q, a
        gc.collect()
        c = xl.expr("b + 1", b=b)
        del b
        gc.collect()
        np.testing.assert_allclose(
            c.numpy(), random(8, 12) @ random(12, 6) + 1, atol=1e-4)

    def test_view_keeps_memory(self):
        view = xl.default_queue().array(random(16, 16))[4:, 3]
        gc.collect()
        np.testing.assert_array_equal(view.numpy(), random(16, 16)[4:, 3])

    def test_expressions_are_few(self):
        q = xl.Queue()
        x = q.array(random(4))
        for i in range(xl.operations.MAX_EXPRESSIONS + 5):
            xl.explain(xl.expr, f"x + {i % 3}" + " " * (i // 3), x=x)
        self.assertEqual(len(q.expressions), xl.operations.MAX_EXPRESSIONS)

    def test_memory_is_released(self):
        q = xl.Queue()
        count, at = ctypes.c_uint(), xl.default_queue().empty((4,))
        library.lib.clRetainMemObject(ctypes.c_void_p(at.int_ptr))
        handle = ctypes.c_void_p(at.int_ptr)
        del at
        gc.collect()
        library.lib.clGetMemObjectInfo(handle, 0x1105, ctypes.c_size_t(4),
                                       ctypes.byref(count), None)
        library.lib.clReleaseMemObject(handle)
        self.assertEqual(count.value, 1)


class Threads(unittest.TestCase):
    def test_one_queue_and_several(self):
        a, b = random(8, 12), random(12, 6)
        expected = xl.gemm(a, b)
        faults = []

        def work(queue):
            try:
                for _ in range(20):
                    c = xl.expr("x + 0", x=xl.gemm(a, b, queue=queue),
                                queue=queue)
                    np.testing.assert_array_equal(c, expected)
                    with self.assertRaisesRegex(xl.Error, "no_name"):
                        xl.expr("no_name", x=a, queue=queue)
            except Exception as e:  # of a thread, for the test
                faults.append(e)

        queues = [xl.default_queue()] * 3 + [xl.Queue(), xl.Queue()]
        threads = [threading.Thread(target=work, args=(q,)) for q in queues]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(faults, [])


class Reports(unittest.TestCase):
    def test_devices(self):
        device = xl.devices()[0]
        self.assertEqual(device.index, 0)
        self.assertIn(device.name, repr(device))
        self.assertIs(device.fact("is_gpu"), False)
        self.assertGreater(device.fact("compute_units"), 0)
        self.assertEqual(len(device.fact("max_wi_sizes")), 3)
        self.assertIsNone(device.fact("registers_per_cu"))
        np.testing.assert_array_equal(
            xl.Queue(device).array(random(3)).numpy(), random(3))

    def test_explain(self):
        a, b = random(8, 12), random(12, 6)
        choices = xl.explain(xl.gemm, a, b)
        self.assertEqual([c.chosen for c in choices].count(True), 1)
        self.assertTrue(all(c.why for c in choices))
        self.assertEqual(next(c for c in choices if c.chosen).flop,
                         2 * 8 * 12 * 6)
        self.assertEqual(xl.explain(xl.expr, "x + 1", x=a)[0].variant,
                         "expr_fused")

    def test_verify(self):
        self.assertEqual(xl.verify(cases=1), 1)


class Layouts(unittest.TestCase):
    """A struct that is not the library's is refused."""

    def setUp(self):
        self.members = list(library._members())

    def change(self, name, **values):
        made = []
        for m in self.members:
            copy = library.Member.from_buffer_copy(m)
            if (m.struct, m.name) == (b"xl_gemm", name):
                for key, value in values.items():
                    setattr(copy, key, value)
            made.append(copy)
        return made

    def test_same(self):
        made = library.make_structs(self.members, "xl_gemm", "xl_sync",
                                    "xl_options", "xl_tuning")
        self.assertEqual(ctypes.sizeof(made["xl_gemm"]),
                         library.new("xl_gemm").size)

    def test_other(self):
        for name, values in ((b"alpha", {"offset": 8}), (b"m", {"bytes": 4}),
                             (b"k", {"type": b"xl_mem"}),
                             (b"size", {"struct_bytes": 8})):
            with self.assertRaisesRegex(ImportError, "xl_gemm"):
                library.make_structs(self.change(name, **values), "xl_gemm")
        with self.assertRaisesRegex(ImportError, "xl_none"):
            library.make_structs(self.members, "xl_none")

    def test_unknown_member(self):
        with self.assertRaises(AttributeError):
            library.new("xl_gemm", alhpa=1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
