/* SPDX-License-Identifier: Apache-2.0 */
/* crosslane for C++17 and later: the functions of crosslane.h as classes.
 *
 * Ownership: a class derived from Owner releases its handle; it is moved, not
 *   copied, and get() is the C handle. Destroy expressions and queues before
 *   their library, as the reverse order of declaration does. Handles of OpenCL
 *   that are passed stay the caller's.
 * OpenCL's C++ objects: where a cl_mem, cl_event or cl_command_queue is taken,
 *   so is an object whose operator()() returns it, as that of Khronos's
 *   opencl.hpp, which is not included here. cl::Buffer(q_buffer.release()) and
 *   cl::Context(q.context(), true) lead back.
 * Builders (Gemm, Conv, Softmax, Attention, Args) are values. A member's meaning and
 *   default are those of the C descriptor, but alpha is 1 at first. Texts,
 *   names and arrays of offsets are not copied: they stay valid until the last
 *   call of the builder; string literals always do.
 * Errors: a call that fails throws Error and leaves what its C function
 *   leaves. Standard containers may throw std::bad_alloc.
 * Threads: those of C. A queue belongs to one thread at a time; the library
 *   and expressions to all; a builder that is not changed likewise.
 *
 * What is not here, such as tuning, sampling and telemetry, is called in C:
 * check(xl_tune(q.get(), ...), q.get()). */
#ifndef CROSSLANE_CROSSLANE_HPP
#define CROSSLANE_CROSSLANE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <crosslane/crosslane.h>

namespace xl {

/** A call that failed. what() is the name of the status and the message. */
class Error : public std::runtime_error {
public:
    Error(xl_status status, const char *message)
        : std::runtime_error(std::string(xl_status_name(status)) + ": " +
                             (*message ? message : xl_status_text(status))),
          status_(status)
    {}
    xl_status status() const noexcept { return status_; }

private:
    xl_status status_;
};

/** Throw Error unless @p status is XL_OK, with the message of the library or
 *  queue that the call was made on. */
inline void check(xl_status status, const xl_lib *lib = nullptr)
{
    if (status != XL_OK)
        throw Error(status, xl_lib_error(lib));
}
inline void check(xl_status status, const xl_queue *q)
{
    if (status != XL_OK)
        throw Error(status, xl_error_detail(q));
}

/* -- handles --------------------------------------------------------------- */

namespace detail {
inline void release(xl_lib *h) { xl_close(h); }
inline void release(xl_queue *h) { xl_queue_destroy(h); }
inline void release(xl_expr *h) { xl_expr_destroy(h); }
inline void release(xl_record *h) { xl_record_destroy(h); }
inline void release(xl_terms *h) { xl_terms_destroy(h); }
inline void release(cl_mem h) { clReleaseMemObject(h); }
inline void release(cl_event h) { clReleaseEvent(h); }

/** What a C function, called on @p on, returns by its last parameter. */
template <class T, class On, class... Params, class... Args>
T result(const On *on, xl_status (*call)(Params...), Args... args)
{
    T out{};
    check(call(args..., &out), on);
    return out;
}
} // namespace detail

/** A handle that is released at the end. */
template <class T> class Owner {
public:
    Owner() = default;
    explicit Owner(T handle) noexcept : handle_(handle) {} ///< takes it over
    Owner(Owner &&from) noexcept : handle_(from.release()) {}
    Owner &operator=(Owner &&from) noexcept
    {
        Owner old(std::exchange(handle_, from.release()));
        return *this;
    }
    ~Owner()
    {
        if (handle_)
            detail::release(handle_);
    }
    T get() const noexcept { return handle_; }
    /** The handle, which the caller releases from now on. */
    T release() noexcept { return std::exchange(handle_, nullptr); }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    T handle_ = nullptr;
};

/** A parameter: a C handle, its Owner, or an object that returns it by
 *  operator()(). It owns nothing. */
template <class T> class Handle {
public:
    Handle(T handle) noexcept : handle_(handle) {}
    Handle(const Owner<T> &owner) noexcept : handle_(owner.get()) {}
    template <class Object, class = std::enable_if_t<std::is_convertible_v<
                                std::invoke_result_t<const Object &>, T>>>
    Handle(const Object &object) : handle_(object())
    {}
    operator T() const noexcept { return handle_; }
    T get() const noexcept { return handle_; }

private:
    T handle_;
};

class Event : public Owner<cl_event> {
public:
    Event() = default;
    using Owner::Owner;
    void wait() const
    {
        const cl_event event = get();
        check(clWaitForEvents(1, &event));
    }
};

using QueueHandle = Handle<xl_queue *>;

/** Device memory in the context of a queue (xl_buffer_create()). */
class Buffer : public Owner<cl_mem> {
public:
    Buffer() = default;
    using Owner::Owner;
    Buffer(QueueHandle q, std::size_t bytes)
        : Owner(detail::result<cl_mem>(q.get(), xl_buffer_create, q, bytes))
    {}
};

/** Events to wait for and events to return (xl_sync). It refers to them: they
 *  stay valid until the call returns. */
class Sync {
public:
    /** Wait for these: events, or containers of events. */
    template <class... Events> Sync &wait(const Events &...events)
    {
        (add(events), ...);
        return *this;
    }
    /** Return the event of the last or first command in @p event: an Event, a
     *  cl::Event, whose former event is released, or a cl_event, whose is not.
     *  A call that fails leaves it as it was. */
    template <class E> Sync &done(E &event)
    {
        done_ = Slot(event);
        return *this;
    }
    template <class E> Sync &first(E &event)
    {
        first_ = Slot(event);
        return *this;
    }

    /** Make a C call on @p q, whose last parameter is an xl_sync. */
    template <class... Params, class... Args>
    void pass(xl_queue *q, xl_status (*call)(Params...), Args... args) const
    {
        cl_event done = nullptr, first = nullptr;
        const xl_sync sync = {
            sizeof(xl_sync), static_cast<cl_uint>(wait_.size()),
            wait_.empty() ? nullptr : wait_.data(),
            done_.set ? &done : nullptr, first_.set ? &first : nullptr};
        check(call(args..., &sync), q);
        if (done_.set)
            done_.set(done_.object, done);
        if (first_.set)
            first_.set(first_.object, first);
    }

private:
    struct Slot {
        void *object = nullptr;
        void (*set)(void *object, cl_event event) = nullptr;
        Slot() = default;
        template <class E>
        explicit Slot(E &event)
            : object(&event),
              set([](void *to, cl_event from) {
                  *static_cast<E *>(to) = E(from);
              })
        {}
    };
    template <class E> void add(const E &event)
    {
        if constexpr (std::is_convertible_v<const E &, Handle<cl_event>>)
            wait_.push_back(Handle<cl_event>(event));
        else
            for (const auto &each : event)
                add(each);
    }
    std::vector<cl_event> wait_;
    Slot done_, first_;
};

/* -- callbacks ------------------------------------------------------------- */

/** Called once when a call in the background has ended or was cancelled, on a
 *  thread of the library (xl_prepared), and destroyed there. It must neither
 *  use nor destroy the queue of the call; it may outlive all else, so what it
 *  refers to stays valid until the queue is destroyed. An exception that
 *  leaves it is dropped. */
using Prepared = std::function<void(xl_status status, const char *message)>;

/** Receives the library's messages (xl_log). An exception is dropped. */
using Log = std::function<void(xl_log_level level, const char *text)>;

namespace detail {
inline void call_prepared(xl_status status, const char *message, void *arg)
{
    const std::unique_ptr<Prepared> done(static_cast<Prepared *>(arg));
    try {
        (*done)(status, message);
    } catch (...) {
    }
}

inline void call_log(xl_log_level level, const char *text, void *arg)
{
    try {
        (*static_cast<Log *>(arg))(level, text);
    } catch (...) {
    }
}

/** Pass each item that a C function, called on @p on, has for its callback to
 *  @p each. The first exception is thrown when the function has returned. */
template <class Item, class On, class Each, class... Params, class... Args>
void pass_each(const On *on, Each &each, xl_status (*call)(Params...),
               Args... args)
{
    struct State {
        Each &each;
        std::exception_ptr thrown;
    } state{each, nullptr};
    const auto callback = [](const Item *item, void *arg) {
        State &s = *static_cast<State *>(arg);
        try {
            if (!s.thrown)
                s.each(*item);
        } catch (...) {
            s.thrown = std::current_exception();
        }
    };
    const xl_status status = call(args..., callback, &state);
    if (state.thrown)
        std::rethrow_exception(state.thrown);
    check(status, on);
}

/** All choices that an _explain() function lists. */
template <class... Params, class... Args>
std::vector<xl_choice> list_choices(const xl_queue *q,
                                    xl_status (*call)(Params...), Args... args)
{
    std::vector<xl_choice> list(16);
    for (unsigned cap, n;;) {
        cap = static_cast<unsigned>(list.size());
        check(call(args..., list.data(), cap, &n), q);
        list.resize(n);
        if (n <= cap)
            return list;
    }
}
} // namespace detail

/* -- library, devices, queues ---------------------------------------------- */

/** A device of a library, valid as long as that; it owns nothing. */
class Device {
public:
    Device(xl_device *device = nullptr) noexcept : device_(device) {}
    xl_device *get() const noexcept { return device_; }
    cl_device_id cl() const { return xl_device_cl(device_); }
    unsigned index() const { return xl_device_index(device_); }
    unsigned same_as() const { return xl_device_same_as(device_); }
    const char *vendor_table() const
    {
        return xl_device_vendor_table(device_);
    }
    xl_fact fact(const char *name, xl_source source = XL_UNKNOWN) const
    {
        return detail::result<xl_fact, xl_lib>(nullptr, xl_device_fact,
                                               device_, name, source);
    }
    /** Variants of an operation, best first (xl_variant_name()). */
    std::vector<const char *> variants(const char *op) const
    {
        std::vector<const char *> list;
        while (const char *name = xl_variant_name(
                   device_, op, static_cast<unsigned>(list.size())))
            list.push_back(name);
        return list;
    }

private:
    xl_device *device_;
};

/** xl_options with its size set: `Options o; o.use_clblast = true;`. */
struct Options : xl_options {
    Options() : xl_options() { size = sizeof(xl_options); }
};

/** The library. Open it once per process. Moved, not assigned. */
class Library {
public:
    /** @param log  called until the library is closed; empty: options.log */
    explicit Library(xl_options options = Options(), Log log = {})
    {
        if (log) {
            log_ = std::make_unique<Log>(std::move(log));
            options.log = detail::call_log;
            options.log_arg = log_.get();
        }
        lib_ = Owner(
            detail::result<xl_lib *, xl_lib>(nullptr, xl_open, &options));
    }
    Library(Library &&) = default;
    xl_lib *get() const noexcept { return lib_.get(); }

    /** All devices, in xl_device_at()'s order: at least one. */
    std::vector<Device> devices() const
    {
        std::vector<Device> list(result<unsigned>(xl_device_count));
        for (unsigned i = 0; i < list.size(); i++)
            list[i] = xl_device_at(get(), i);
        return list;
    }
    Device find_device(const char *text) const
    {
        return result<xl_device *>(xl_device_find, text);
    }
    /** Free what no queue has; trim the queues first. */
    xl_trimmed trim() const { return result<xl_trimmed>(xl_lib_trim); }

    /** NULL when the cache is off. */
    const char *cache_dir() const { return xl_cache_dir(get()); }
    xl_cache_stats cache_stats() const
    {
        return result<xl_cache_stats>(xl_cache_stats_get);
    }
    /** Pass every xl_cache_entry to @p each. */
    template <class Each> void cache_list(Each each) const
    {
        detail::pass_each<xl_cache_entry>(get(), each, xl_cache_list, get());
    }
    std::uint64_t cache_clear(bool only_damaged = false) const
    {
        return result<std::uint64_t>(xl_cache_clear, only_damaged);
    }
    /** @param device  none: all devices */
    xl_cache_copy cache_export(const char *path, Device device = {}) const
    {
        return result<xl_cache_copy>(xl_cache_export, device.get(), path);
    }
    xl_cache_copy cache_import(const char *path, Device device = {}) const
    {
        return result<xl_cache_copy>(xl_cache_import, device.get(), path);
    }

private:
    template <class T, class Call, class... Args>
    T result(Call call, Args... args) const
    {
        return detail::result<T>(get(), call, get(), args...);
    }
    std::unique_ptr<Log> log_;
    Owner<xl_lib *> lib_; // closed before log_ is destroyed
};

/** A queue. Destroying it does not wait for enqueued commands, but for the
 *  call in the background that runs; it cancels the others. */
class Queue : public Owner<xl_queue *> {
public:
    Queue() = default;
    using Owner::Owner;
    /** Use the application's command queue (xl_queue_wrap()). */
    Queue(const Library &lib, Handle<cl_command_queue> native)
        : Owner(detail::result<xl_queue *>(lib.get(), xl_queue_wrap, lib.get(),
                                           native))
    {}
    /** Create a command queue on @p device. */
    Queue(const Library &lib, Device device)
        : Owner(detail::result<xl_queue *>(lib.get(), xl_queue_create,
                                           lib.get(), device.get()))
    {}
    /** Create a command queue of @p lib in the context of @p other. */
    Queue(const Library &lib, const Queue &other)
        : Owner(detail::result<xl_queue *>(lib.get(), xl_queue_create_beside,
                                           other.get()))
    {}

    cl_command_queue cl() const { return xl_queue_cl(get()); }
    cl_context context() const { return xl_queue_context(get()); }
    Device device() const { return xl_queue_device(get()); }
    void finish() { check(xl_queue_finish(get()), get()); }
    void trim() { check(xl_queue_trim(get()), get()); }
    void set_scratch_limit(std::size_t bytes)
    {
        check(xl_queue_set_scratch_limit(get(), bytes), get());
    }

    /** Copy and block until done. */
    void write(Handle<cl_mem> dst, std::size_t offset_bytes, const void *src,
               std::size_t bytes)
    {
        check(xl_buffer_write(get(), dst, offset_bytes, src, bytes), get());
    }
    void read(Handle<cl_mem> src, std::size_t offset_bytes, void *dst,
              std::size_t bytes)
    {
        check(xl_buffer_read(get(), src, offset_bytes, dst, bytes), get());
    }
    /** Enqueue. The host memory stays valid until the command has ended. */
    void enqueue_write(Handle<cl_mem> dst, std::size_t offset_bytes,
                       const void *src, std::size_t bytes,
                       const Sync &sync = {})
    {
        sync.pass(get(), xl_buffer_enqueue_write, get(), dst, offset_bytes,
                  src, bytes);
    }
    void enqueue_read(Handle<cl_mem> src, std::size_t offset_bytes, void *dst,
                      std::size_t bytes, const Sync &sync = {})
    {
        sync.pass(get(), xl_buffer_enqueue_read, get(), src, offset_bytes, dst,
                  bytes);
    }
    void enqueue_fill(Handle<cl_mem> dst, std::size_t offset_words,
                      cl_uint word, std::size_t n_words, const Sync &sync = {})
    {
        sync.pass(get(), xl_buffer_enqueue_fill, get(), dst, offset_words,
                  word, n_words);
    }

    void timeline_enable(bool on)
    {
        check(xl_timeline_enable(get(), on), get());
    }
    /** Record a command of the application's own; @p label must exist until
     *  it is drained. */
    void timeline_record(const char *label, cl_event event)
    {
        check(xl_timeline_record(get(), label, event), get());
    }
    /** Pass every xl_span to @p each, and remove them. */
    template <class Each> void timeline_drain(Each each)
    {
        detail::pass_each<xl_span>(get(), each, xl_timeline_drain, get());
    }
};

/* -- operands -------------------------------------------------------------- */

/** Memory of an operand or workspace (xl_mem): a buffer, all of it or its
 *  first @p bytes, or SVM. */
struct Mem : xl_mem {
    Mem(const xl_mem &mem) noexcept : xl_mem(mem) {}
    template <class Object, class = std::enable_if_t<std::is_convertible_v<
                                const Object &, Handle<cl_mem>>>>
    Mem(const Object &object, std::size_t most_bytes = 0)
        : xl_mem{Handle<cl_mem>(object), nullptr, most_bytes}
    {}
    static Mem svm(void *pointer, std::size_t most_bytes = 0) noexcept
    {
        return xl_mem{nullptr, pointer, most_bytes};
    }
};

/** A row-major (column-major) matrix with leading dimension @p ld; @p offset
 *  is of its first element. Transposed: xl_mat_transposed(). */
inline xl_mat rows(const Mem &mem, std::size_t ld, xl_dtype dtype,
                   std::size_t offset = 0) noexcept
{
    return {mem, offset, ld, 1, dtype};
}
inline xl_mat cols(const Mem &mem, std::size_t ld, xl_dtype dtype,
                   std::size_t offset = 0) noexcept
{
    return {mem, offset, 1, ld, dtype};
}

/** A dense view, outermost size first; none: a single element. */
inline xl_tensor tensor(const Mem &mem, xl_dtype dtype,
                        const std::vector<std::size_t> &size,
                        std::size_t offset = 0)
{
    xl_tensor t = xl_tensor_dense(
        nullptr, dtype, static_cast<unsigned>(size.size()), size.data());
    t.mem = mem;
    t.offset = offset;
    return t;
}

/** Images and filters of a convolution, dense. */
inline xl_images images(const Mem &mem, xl_layout layout, xl_dtype dtype,
                        std::size_t offset = 0) noexcept
{
    return {mem, offset, layout, {0, 0, 0, 0}, dtype};
}
inline xl_filters filters(const Mem &mem, xl_filter_layout layout,
                          xl_dtype dtype, std::size_t offset = 0) noexcept
{
    return {mem, offset, layout, dtype};
}

/** A name and its value: a tensor, a scalar of f32, or one of i32. */
struct Binding : xl_binding {
    Binding(const char *of, const xl_tensor &value)
        : xl_binding{of, value, false, 0}
    {}
    Binding(const char *of, double value) : xl_binding{of, {}, true, value}
    {
        tensor.dtype = XL_F32;
    }
    Binding(const char *of, int value) : xl_binding{of, {}, true, 1.0 * value}
    {
        tensor.dtype = XL_I32;
    }
};

/** The bindings of an epilogue: {{"bias", tensor}, {"scale", 0.5}}. */
class Bindings {
public:
    Bindings(std::initializer_list<Binding> list = {})
        : list_(list.begin(), list.end())
    {}
    /** Add a binding, or replace that of the same name. */
    Bindings &set(const Binding &binding)
    {
        for (xl_binding &b : list_)
            if (!std::strcmp(b.name, binding.name)) {
                b = binding;
                return *this;
            }
        list_.push_back(binding);
        return *this;
    }
    const xl_binding *data() const noexcept { return list_.data(); }
    unsigned size() const noexcept
    {
        return static_cast<unsigned>(list_.size());
    }

private:
    std::vector<xl_binding> list_;
};

/* -- operations ------------------------------------------------------------ */

namespace detail {
/** The C functions of an operation. */
template <class Desc> struct Calls {
    xl_status (*run)(xl_queue *, const Desc *, const xl_sync *);
    xl_status (*prepare)(xl_queue *, const Desc *);
    xl_status (*prepare_range)(xl_queue *, const Desc *, std::size_t);
    xl_status (*prepare_async)(xl_queue *, const Desc *, std::size_t,
                               xl_prepared, void *);
    xl_status (*workspace)(xl_queue *, const Desc *, std::size_t *);
    xl_status (*explain)(xl_queue *, const Desc *, xl_choice *, unsigned,
                         unsigned *);
};
inline Calls<xl_gemm> calls(const xl_gemm &)
{
    return {xl_gemm_run,           xl_gemm_prepare,   xl_gemm_prepare_range,
            xl_gemm_prepare_async, xl_gemm_workspace, xl_gemm_explain};
}
inline Calls<xl_qgemm> calls(const xl_qgemm &)
{
    return {xl_qgemm_run,           xl_qgemm_prepare,
            xl_qgemm_prepare_range, xl_qgemm_prepare_async,
            xl_qgemm_workspace,     xl_qgemm_explain};
}
inline Calls<xl_qconvert> calls(const xl_qconvert &)
{
    return {xl_qconvert_run,           xl_qconvert_prepare,
            xl_qconvert_prepare_range, xl_qconvert_prepare_async,
            xl_qconvert_workspace,     xl_qconvert_explain};
}
inline Calls<xl_rotary> calls(const xl_rotary &)
{
    return {xl_rotary_run,           xl_rotary_prepare,
            xl_rotary_prepare_range, xl_rotary_prepare_async,
            xl_rotary_workspace,     xl_rotary_explain};
}
inline Calls<xl_conv> calls(const xl_conv &)
{
    return {xl_conv_run,           xl_conv_prepare,   xl_conv_prepare_range,
            xl_conv_prepare_async, xl_conv_workspace, xl_conv_explain};
}
inline Calls<xl_softmax> calls(const xl_softmax &)
{
    return {xl_softmax_run,           xl_softmax_prepare,
            xl_softmax_prepare_range, xl_softmax_prepare_async,
            xl_softmax_workspace,     xl_softmax_explain};
}
inline Calls<xl_norm> calls(const xl_norm &)
{
    return {xl_norm_run,           xl_norm_prepare,
            xl_norm_prepare_range, xl_norm_prepare_async,
            xl_norm_workspace,     xl_norm_explain};
}
inline Calls<xl_attention> calls(const xl_attention &)
{
    return {xl_attention_run,           xl_attention_prepare,
            xl_attention_prepare_range, xl_attention_prepare_async,
            xl_attention_workspace,     xl_attention_explain};
}
} // namespace detail

/** What all operations have: a descriptor, and the calls that take it. */
template <class Own, class Desc> class Op {
public:
    Own &variant(const char *name)
    {
        desc_.variant = name;
        return own();
    }
    Own &workspace(const Mem &mem)
    {
        desc_.workspace = mem;
        return own();
    }
    /** The C descriptor, which refers to this builder. */
    Desc get() const
    {
        Desc d = desc_;
        own().refer(d);
        return d;
    }

    /** Enqueue; returns at once. */
    void run(QueueHandle q, const Sync &sync = {}) const
    {
        const Desc d = get();
        sync.pass(q, detail::calls(d).run, q, &d);
    }
    /** Build and check now what run() needs. */
    void prepare(QueueHandle q) const
    {
        const Desc d = get();
        check(detail::calls(d).prepare(q, &d), q.get());
    }
    /** Likewise for sizes up to @p last (xl_gemm_prepare_range()). */
    void prepare_range(QueueHandle q, std::size_t last) const
    {
        const Desc d = get();
        check(detail::calls(d).prepare_range(q, &d, last), q.get());
    }
    /** Likewise in the background: returns at once, and the builder may be
     *  changed or destroyed.
     *  @param done  may be empty; not called where this throws
     *  @param last  0: the builder's own size alone */
    void prepare_async(QueueHandle q, Prepared done,
                       std::size_t last = 0) const
    {
        const Desc d = get();
        const auto call = done ? detail::call_prepared : nullptr;
        auto kept = std::make_unique<Prepared>(std::move(done));
        check(detail::calls(d).prepare_async(q, &d, last, call, kept.get()),
              q.get());
        if (call)
            static_cast<void>(kept.release()); // call destroys it
    }
    std::size_t workspace_bytes(QueueHandle q) const
    {
        const Desc d = get();
        return detail::result<std::size_t>(q.get(), detail::calls(d).workspace,
                                           q, &d);
    }
    /** The variants for this call, best first. */
    std::vector<xl_choice> explain(QueueHandle q) const
    {
        const Desc d = get();
        return detail::list_choices(q, detail::calls(d).explain, q, &d);
    }

protected:
    Op() { desc_.size = sizeof desc_; }
    void refer(Desc &) const {} // to members of Own
    Own &own() noexcept { return static_cast<Own &>(*this); }
    const Own &own() const noexcept { return static_cast<const Own &>(*this); }
    Desc desc_{};
};

/** Operations whose results an expression may change before they are stored. */
template <class Own, class Desc> class Stored : public Op<Own, Desc> {
public:
    /** An expression over `y`, each element of the result (xl_epilogue). */
    Own &epilogue(const char *text, Bindings bindings = {})
    {
        this->desc_.epilogue.expr = text;
        after_ = std::move(bindings);
        return this->own();
    }

protected:
    friend class Op<Own, Desc>;
    void refer(Desc &d) const
    {
        d.epilogue.bindings = after_.data();
        d.epilogue.n_bindings = after_.size();
    }

private:
    Bindings after_;
};

/** Products and convolutions: a scaled result. */
template <class Own, class Desc> class Product : public Stored<Own, Desc> {
public:
    Own &alpha(double value) { return this->desc_.alpha = value, this->own(); }
    Own &beta(double value) { return this->desc_.beta = value, this->own(); }

protected:
    Product() { this->desc_.alpha = 1; }
};

/** C = epilogue(alpha A B + beta C) (xl_gemm). */
class Gemm : public Product<Gemm, xl_gemm> {
public:
    /** A is m x k, B is k x n, C is m x n. */
    Gemm(std::size_t m, std::size_t n, std::size_t k)
    {
        desc_.m = m;
        desc_.n = n;
        desc_.k = k;
    }
    Gemm &a(const xl_mat &view) { return desc_.a = view, *this; }
    Gemm &b(const xl_mat &view) { return desc_.b = view, *this; }
    Gemm &c(const xl_mat &view) { return desc_.c = view, *this; }
    Gemm &accuracy(xl_accuracy value) { return desc_.accuracy = value, *this; }
    /** Scales and zeros of A, of B; the matrices that they name are not
     *  copied. */
    Gemm &a_scales(const xl_scales &s) { return desc_.a_scales = s, *this; }
    Gemm &b_scales(const xl_scales &s) { return desc_.b_scales = s, *this; }

    /** @p count products, with elements from each matrix to the next one. */
    Gemm &batch(std::size_t count, std::size_t a_step, std::size_t b_step,
                std::size_t c_step)
    {
        desc_.batch.count = count;
        desc_.batch.a_step = a_step;
        desc_.batch.b_step = b_step;
        desc_.batch.c_step = c_step;
        return *this;
    }
    /** @p count products at listed offsets; the arrays are not copied. */
    Gemm &batch_at(std::size_t count, const cl_ulong *a_at,
                   const cl_ulong *b_at, const cl_ulong *c_at)
    {
        desc_.batch.count = count;
        desc_.batch.a_at = a_at;
        desc_.batch.b_at = b_at;
        desc_.batch.c_at = c_at;
        return *this;
    }
    /** Likewise at offsets in device memory, numbers of 64 bits: all of A, then
     *  of B, then of C, the first at @p offset of them (xl_batch::at). */
    Gemm &batch_at(std::size_t count, const Mem &mem, std::size_t offset = 0)
    {
        desc_.batch.count = count;
        at_ = xl_offsets{mem, offset};
        return *this;
    }
    /** A second axis of a batch: @p inner products a row, which divides its
     *  count, and elements from one product of a row to the next one. The
     *  steps of batch() then lead from row to row. So many products of a row
     *  share a matrix: @p a_share, @p b_share. */
    Gemm &batch_inner(std::size_t inner, std::size_t a_inner,
                      std::size_t b_inner, std::size_t c_inner,
                      std::size_t a_share = 0, std::size_t b_share = 0)
    {
        desc_.batch.inner = inner;
        desc_.batch.a_inner = a_inner;
        desc_.batch.b_inner = b_inner;
        desc_.batch.c_inner = c_inner;
        desc_.batch.a_share = a_share;
        desc_.batch.b_share = b_share;
        return *this;
    }
    /** How many of the m rows each product computes: numbers of 32 bits in
     *  device memory, that of the first product at @p offset of them
     *  (xl_batch::rows). */
    Gemm &batch_rows(const Mem &mem, std::size_t offset = 0)
    {
        rows_ = xl_sizes{mem, offset};
        return *this;
    }

private:
    friend class Op<Gemm, xl_gemm>;
    void refer(xl_gemm &d) const
    {
        Stored::refer(d);
        d.batch.rows = rows_ ? &*rows_ : nullptr;
        d.batch.at = at_ ? &*at_ : nullptr;
    }
    std::optional<xl_sizes> rows_;
    std::optional<xl_offsets> at_;
};

/** Enqueue products of different sizes (xl_gemm_run_group()). */
inline void run_group(QueueHandle q, const std::vector<Gemm> &products,
                      const Sync &sync = {})
{
    std::vector<xl_gemm> list;
    for (const Gemm &g : products)
        list.push_back(g.get());
    sync.pass(q, xl_gemm_run_group, q, list.data(), list.size());
}

/** A convolution (xl_conv). */
class Conv : public Product<Conv, xl_conv> {
public:
    Conv &accuracy(xl_accuracy value) { return desc_.accuracy = value, *this; }
    /** n images of c channels, h rows and w columns. */
    Conv &in(const xl_images &view, std::size_t n, std::size_t c,
             std::size_t h, std::size_t w)
    {
        desc_.in = view;
        desc_.n = n;
        desc_.c = c;
        desc_.h = h;
        desc_.w = w;
        return *this;
    }
    /** k filters of r rows and s columns. */
    Conv &filters(const xl_filters &view, std::size_t k, std::size_t r,
                  std::size_t s)
    {
        desc_.filters = view;
        desc_.k = k;
        desc_.r = r;
        desc_.s = s;
        return *this;
    }
    Conv &out(const xl_images &view) { return desc_.out = view, *this; }
    /** Which of the three is written; out when not called. */
    Conv &pass(xl_conv_pass which) { return desc_.pass = which, *this; }
    Conv &groups(std::size_t n) { return desc_.groups = n, *this; }
    Conv &stride(std::size_t h, std::size_t w)
    {
        return desc_.stride_h = h, desc_.stride_w = w, *this;
    }
    Conv &dilation(std::size_t h, std::size_t w)
    {
        return desc_.dilation_h = h, desc_.dilation_w = w, *this;
    }
    Conv &pad(std::size_t top, std::size_t bottom, std::size_t left,
              std::size_t right)
    {
        desc_.pad_top = top;
        desc_.pad_bottom = bottom;
        desc_.pad_left = left;
        desc_.pad_right = right;
        return *this;
    }
    /** Rows and columns of the output. */
    std::pair<std::size_t, std::size_t> out_size() const
    {
        std::pair<std::size_t, std::size_t> size;
        check(xl_conv_out_size(&desc_, &size.first, &size.second));
        return size;
    }
};

/** C = epilogue(A W^T), W quantised (xl_qgemm). */
class Qgemm : public Stored<Qgemm, xl_qgemm> {
public:
    /** A is m x w.shape.cols, C is m x w.shape.rows, of a pair half of them. */
    Qgemm(std::size_t m, const xl_qmat &w)
    {
        desc_.m = m;
        desc_.w = w;
    }
    Qgemm &a(const xl_mat &view) { return desc_.a = view, *this; }
    Qgemm &c(const xl_mat &view) { return desc_.c = view, *this; }
    Qgemm &accuracy(xl_accuracy value) { return desc_.accuracy = value, *this; }
    Qgemm &activations(xl_activations value)
    {
        return desc_.activations = value, *this;
    }
    /** Rows of A are normed: a gain / sqrt(mean of a^2 + eps). */
    Qgemm &rms_norm(const xl_mat &gain, double eps)
    {
        return desc_.norm = {XL_QGEMM_NORM_RMS, gain, eps}, *this;
    }
    /** W is two matrices, whose products are `y` and `y2` of the epilogue. */
    Qgemm &pair(bool is_pair = true) { return desc_.is_pair = is_pair, *this; }
};

/** x and w, one from the other (xl_qconvert). */
class Qconvert : public Op<Qconvert, xl_qconvert> {
public:
    Qconvert(xl_qdirection direction, const xl_mat &x, const xl_qmat &w)
    {
        desc_.direction = direction;
        desc_.x = x;
        desc_.w = w;
    }
};

/** A softmax over rows (xl_softmax). */
class Softmax : public Stored<Softmax, xl_softmax> {
public:
    Softmax(std::size_t rows, std::size_t cols)
    {
        desc_.rows = rows;
        desc_.cols = cols;
    }
    Softmax &src(const xl_mat &view) { return desc_.src = view, *this; }
    Softmax &dst(const xl_mat &view) { return desc_.dst = view, *this; }
    Softmax &mask(const xl_mat &view) { return desc_.mask = view, *this; }
    Softmax &scale(double value) { return desc_.scale = value, *this; }
    Softmax &log(bool is_log = true) { return desc_.is_log = is_log, *this; }
    /** dst is the gradient of src, from the gradient of the result. */
    Softmax &backward(const xl_mat &grad)
    {
        return desc_.is_backward = true, desc_.grad = grad, *this;
    }
    /** An expression over `x`, each score before the reduction. */
    Softmax &prologue(const char *text, Bindings bindings = {})
    {
        desc_.prologue.expr = text;
        before_ = std::move(bindings);
        return *this;
    }

private:
    friend class Op<Softmax, xl_softmax>;
    void refer(xl_softmax &d) const
    {
        Stored::refer(d);
        d.prologue.bindings = before_.data();
        d.prologue.n_bindings = before_.size();
    }
    Bindings before_;
};

/** A layer norm or RMS norm over rows (xl_norm). */
class Norm : public Op<Norm, xl_norm> {
public:
    Norm(xl_norm_kind kind, std::size_t rows, std::size_t cols)
    {
        desc_.kind = kind;
        desc_.rows = rows;
        desc_.cols = cols;
    }
    Norm &src(const xl_mat &view) { return desc_.src = view, *this; }
    Norm &dst(const xl_mat &view) { return desc_.dst = view, *this; }
    Norm &eps(double value) { return desc_.eps = value, *this; }
    /** Added to src before all else. */
    Norm &residual(const xl_mat &view) { return desc_.residual = view, *this; }
    /** Where src + residual is stored. */
    Norm &sum(const xl_mat &view) { return desc_.sum = view, *this; }
    Norm &scale(const xl_mat &row) { return desc_.scale = row, *this; }
    Norm &bias(const xl_mat &row) { return desc_.bias = row, *this; }
    /** dst is the gradient of src, from the gradient of the result. */
    Norm &backward(const xl_mat &grad)
    {
        return desc_.is_backward = true, desc_.grad = grad, *this;
    }
    /** Where the gradients of scale and bias are stored. */
    Norm &grad_scale(const xl_mat &row)
    {
        return desc_.grad_scale = row, *this;
    }
    Norm &grad_bias(const xl_mat &row)
    {
        return desc_.grad_bias = row, *this;
    }
};

/** softmax(scale Q K^T) V (xl_attention). */
class Attention : public Op<Attention, xl_attention> {
public:
    Attention(std::size_t n_heads, std::size_t n_q, std::size_t n_kv,
              std::size_t d_head)
    {
        desc_.n_heads = n_heads;
        desc_.n_q = n_q;
        desc_.n_kv = n_kv;
        desc_.d_head = d_head;
    }
    Attention &batch(std::size_t n) { return desc_.n_batch = n, *this; }
    /** Heads of k and v, where they are fewer. */
    Attention &kv_heads(std::size_t n) { return desc_.n_kv_heads = n, *this; }
    Attention &q(const xl_heads &view) { return desc_.q = view, *this; }
    Attention &k(const xl_heads &view) { return desc_.k = view, *this; }
    Attention &v(const xl_heads &view) { return desc_.v = view, *this; }
    Attention &o(const xl_heads &view) { return desc_.o = view, *this; }
    Attention &scale(double value) { return desc_.scale = value, *this; }
    Attention &causal(bool on = true) { return desc_.is_causal = on, *this; }
    Attention &window(std::size_t n) { return desc_.window = n, *this; }
    Attention &soft_cap(double value) { return desc_.soft_cap = value, *this; }
    Attention &accuracy(xl_accuracy value) { return desc_.accuracy = value, *this; }
    Attention &mask(const xl_heads &view) { return mask_ = view, *this; }
    Attention &slopes(const xl_heads &view) { return slopes_ = view, *this; }
    Attention &sinks(const xl_heads &view) { return sinks_ = view, *this; }
    /** Where log-sum-exp is stored; of the gradients, read. */
    Attention &lse(const xl_heads &view) { return lse_ = view, *this; }
    /** An expression over `x`, each score before the softmax. */
    Attention &prologue(const char *text, Bindings bindings = {})
    {
        desc_.prologue.expr = text;
        before_ = std::move(bindings);
        return *this;
    }
    /** Sequences of unequal lengths: xl_sequences. */
    Attention &q_rows(const xl_sequences &rows) { return q_rows_ = rows, *this; }
    Attention &kv_rows(const xl_sequences &rows) { return kv_rows_ = rows, *this; }
    /** Of k and v of i8 or f8e4m3. */
    Attention &scales(const xl_heads &of_k, const xl_heads &of_v)
    {
        k_scales_ = of_k;
        v_scales_ = of_v;
        return *this;
    }
    /** The gradients of q, k and v from that of o; o and lse are read. */
    Attention &backward(const xl_heads &grad_o, const xl_heads &grad_q,
                        const xl_heads &grad_k, const xl_heads &grad_v)
    {
        desc_.is_backward = true;
        grad_o_ = grad_o;
        grad_q_ = grad_q;
        grad_k_ = grad_k;
        grad_v_ = grad_v;
        return *this;
    }

private:
    friend class Op<Attention, xl_attention>;
    void refer(xl_attention &d) const
    {
        d.mask = mask_ ? &*mask_ : nullptr;
        d.slopes = slopes_ ? &*slopes_ : nullptr;
        d.sinks = sinks_ ? &*sinks_ : nullptr;
        d.lse = lse_ ? &*lse_ : nullptr;
        d.grad_o = grad_o_ ? &*grad_o_ : nullptr;
        d.grad_q = grad_q_ ? &*grad_q_ : nullptr;
        d.grad_k = grad_k_ ? &*grad_k_ : nullptr;
        d.grad_v = grad_v_ ? &*grad_v_ : nullptr;
        d.q_rows = q_rows_ ? &*q_rows_ : nullptr;
        d.kv_rows = kv_rows_ ? &*kv_rows_ : nullptr;
        d.k_scales = k_scales_ ? &*k_scales_ : nullptr;
        d.v_scales = v_scales_ ? &*v_scales_ : nullptr;
        d.prologue.bindings = before_.data();
        d.prologue.n_bindings = before_.size();
    }
    std::optional<xl_heads> mask_, slopes_, sinks_, lse_;
    std::optional<xl_heads> grad_o_, grad_q_, grad_k_, grad_v_;
    std::optional<xl_heads> k_scales_, v_scales_;
    std::optional<xl_sequences> q_rows_, kv_rows_;
    Bindings before_;
};

/** The rotary embedding with the append to the cache (xl_rotary). */
class Rotary : public Op<Rotary, xl_rotary> {
public:
    /** n_kv counts the keys with the n_q new ones. */
    Rotary(std::size_t n_heads, std::size_t n_q, std::size_t n_kv,
           std::size_t d_head)
    {
        desc_.n_heads = n_heads;
        desc_.n_q = n_q;
        desc_.n_kv = n_kv;
        desc_.d_head = d_head;
    }
    Rotary &batch(std::size_t n) { return desc_.n_batch = n, *this; }
    /** Heads of k and v, where they are fewer. */
    Rotary &kv_heads(std::size_t n) { return desc_.n_kv_heads = n, *this; }
    Rotary &q(const xl_heads &from, const xl_heads &to)
    {
        desc_.q = from;
        desc_.q_out = to;
        return *this;
    }
    Rotary &k(const xl_heads &from, const xl_heads &cache)
    {
        desc_.k = from;
        desc_.k_cache = cache;
        return *this;
    }
    Rotary &v(const xl_heads &from, const xl_heads &cache)
    {
        v_ = from;
        v_cache_ = cache;
        return *this;
    }
    /** Where the factors of rows of i8 and f8e4m3 are stored. */
    Rotary &scales(const xl_heads &of_k, const xl_heads &of_v)
    {
        k_scales_ = of_k;
        v_scales_ = of_v;
        return *this;
    }
    /** Sequences of unequal lengths: xl_sequences. */
    Rotary &q_rows(const xl_sequences &rows) { return q_rows_ = rows, *this; }
    Rotary &kv_rows(const xl_sequences &rows) { return kv_rows_ = rows, *this; }
    Rotary &pairs(xl_rotary_pairs kind) { return desc_.pairs = kind, *this; }
    /** The first n columns are rotated, others copied. */
    Rotary &columns(std::size_t n) { return desc_.d_rotary = n, *this; }
    Rotary &base(double value) { return desc_.base = value, *this; }
    /** Of positions. */
    Rotary &scale(double value) { return desc_.scale = value, *this; }
    /** Of cos and sin. */
    Rotary &magnitude(double value) { return desc_.magnitude = value, *this; }
    /** By which frequencies are divided. */
    Rotary &factors(const xl_heads &view) { return factors_ = view, *this; }
    /** Gains of RMS norms of the rows of q and k before the rotation. */
    Rotary &norms(const xl_heads &of_q, const xl_heads &of_k, double eps = 0)
    {
        q_norm_ = of_q;
        k_norm_ = of_k;
        desc_.norm_eps = eps;
        return *this;
    }

private:
    friend class Op<Rotary, xl_rotary>;
    void refer(xl_rotary &d) const
    {
        d.v = v_ ? &*v_ : nullptr;
        d.v_cache = v_cache_ ? &*v_cache_ : nullptr;
        d.k_scales = k_scales_ ? &*k_scales_ : nullptr;
        d.v_scales = v_scales_ && v_ ? &*v_scales_ : nullptr;
        d.factors = factors_ ? &*factors_ : nullptr;
        d.q_norm = q_norm_ ? &*q_norm_ : nullptr;
        d.k_norm = k_norm_ ? &*k_norm_ : nullptr;
        d.q_rows = q_rows_ ? &*q_rows_ : nullptr;
        d.kv_rows = kv_rows_ ? &*kv_rows_ : nullptr;
    }
    std::optional<xl_heads> v_, v_cache_, k_scales_, v_scales_, factors_,
        q_norm_, k_norm_;
    std::optional<xl_sequences> q_rows_, kv_rows_;
};

/* -- expressions ----------------------------------------------------------- */

/** Arguments of an expression (xl_expr_args). Args{{"x", x}, {"a", 0.5}}. */
class Args {
public:
    Args(std::initializer_list<Binding> list = {}) : bindings_(list) {}
    /** Add a binding, or replace that of the same name. */
    Args &set(const Binding &b) { return bindings_.set(b), *this; }
    Args &fast_math(bool on = true) { return desc_.fast_math = on, *this; }
    Args &variant(const char *name) { return desc_.variant = name, *this; }
    Args &workspace(const Mem &mem) { return desc_.workspace = mem, *this; }
    /** The C struct, which refers to this object. */
    operator xl_expr_args() const
    {
        xl_expr_args d = desc_;
        d.size = sizeof d;
        d.bindings = bindings_.data();
        d.n_bindings = bindings_.size();
        return d;
    }

private:
    xl_expr_args desc_{};
    Bindings bindings_;
};

/** An expression without text; the first error is thrown by Expr(). */
class Terms : public Owner<xl_terms *> {
public:
    Terms()
        : Owner(detail::result<xl_terms *, xl_lib>(nullptr, xl_terms_create))
    {}
    xl_term name(const char *text) { return xl_term_name(get(), text); }
    xl_term number(double value) { return xl_term_number(get(), value); }
    xl_term integer(int value) { return xl_term_integer(get(), value); }
    xl_term call(const char *function, std::initializer_list<xl_term> args)
    {
        return xl_term_call(get(), function, args.begin(),
                            static_cast<unsigned>(args.size()));
    }
    xl_term reduce(const char *function, xl_term x,
                   std::initializer_list<int> axes = {})
    {
        return xl_term_reduce(get(), function, x, axes.begin(),
                              static_cast<unsigned>(axes.size()));
    }
    xl_term cast(xl_term x, xl_dtype to) { return xl_term_cast(get(), x, to); }
    void assign(const char *to, xl_term x) { xl_term_assign(get(), to, x); }
};

/** A compiled expression: of any thread, on any queue of its library. */
class Expr : public Owner<xl_expr *> {
public:
    /** As Prepared; it owns the expression, which is empty after a failure. */
    using Compiled =
        std::function<void(xl_status status, const char *message, Expr expr)>;

    Expr() = default;
    using Owner::Owner;
    Expr(QueueHandle q, const char *text, const xl_expr_args &args)
        : Owner(detail::result<xl_expr *>(q.get(), xl_expr_compile, q, text,
                                          &args))
    {}
    Expr(QueueHandle q, const Terms &terms, const xl_expr_args &args)
        : Owner(detail::result<xl_expr *>(q.get(), xl_expr_compile_terms, q,
                                          terms.get(), &args))
    {}
    /** Compile in the background. @p done is not called where this throws. */
    static void compile_async(QueueHandle q, const char *text,
                              const xl_expr_args &args, Compiled done)
    {
        struct State {
            Compiled done;
            xl_expr *expr;
        };
        const auto call = [](xl_status status, const char *message,
                             void *arg) {
            const std::unique_ptr<State> s(static_cast<State *>(arg));
            try {
                s->done(status, message, Expr(s->expr));
            } catch (...) {
            }
        };
        std::unique_ptr<State> kept(new State{std::move(done), nullptr});
        check(xl_expr_compile_async(q, text, &args, &kept->expr, call,
                                    kept.get()),
              q.get());
        static_cast<void>(kept.release()); // call destroys it
    }

    void run(QueueHandle q, const xl_expr_args &args,
             const Sync &sync = {}) const
    {
        sync.pass(q, xl_expr_run, q, get(), &args);
    }
    std::size_t workspace_bytes(QueueHandle q, const xl_expr_args &args) const
    {
        return detail::result<std::size_t>(q.get(), xl_expr_workspace, q,
                                           get(), &args);
    }
    std::vector<xl_choice> explain(QueueHandle q,
                                   const xl_expr_args &args) const
    {
        return detail::list_choices(q, xl_expr_explain, q, get(), &args);
    }
    /** Pass every xl_expr_kernel to @p each. */
    template <class Each>
    void kernels(QueueHandle q, const xl_expr_args &args, Each each) const
    {
        detail::pass_each<xl_expr_kernel>(q.get(), each, xl_expr_kernels, q,
                                          get(), &args);
    }
};

/** Sizes and type of what a text assigns to @p name (xl_expr_result()). */
inline xl_tensor expr_result(QueueHandle q, const char *text,
                             const xl_expr_args &args, const char *name)
{
    return detail::result<xl_tensor>(q.get(), xl_expr_result, q, text, &args,
                                     name);
}

/* -- recorded calls -------------------------------------------------------- */

/** A sequence of calls of one queue (crosslane/record.h). Destroy it before its
 *  queue. */
class Record : public Owner<xl_record *> {
public:
    Record() = default;
    explicit Record(const Queue &q)
        : Owner(detail::result<xl_record *>(q.get(), xl_record_create,
                                            q.get())),
          queue_(q.get())
    {}

    /** Record the calls that @p calls() makes on the queue, from call number
     *  @p at on. Ended also where it throws. */
    template <class Calls> void add(std::size_t at, Calls &&calls)
    {
        struct Open {
            xl_record *r;
            ~Open() { xl_record_end(r); }
        };
        check(xl_record_begin(get(), at), queue_);
        const Open open{get()};
        std::forward<Calls>(calls)();
    }
    std::size_t size() const { return xl_record_calls(get()); }
    void replay(const Sync &sync = {})
    {
        sync.pass(queue_, xl_record_replay, get());
    }
    /** Use another buffer in place of @p from. */
    void set_mem(Handle<cl_mem> from, Handle<cl_mem> to)
    {
        check(xl_record_set_mem(get(), from, to), queue_);
    }

private:
    xl_queue *queue_ = nullptr;
};

} // namespace xl

#endif
