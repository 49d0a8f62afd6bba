# SPDX-License-Identifier: Apache-2.0
# Every test program and the jobs it runs in.

# -- unit: no driver at all --------------------------------------------------
foreach(name base store tune_db plans ref cli report render html
        measure diagnose roofline
        matrix shapes
        expr_text expr_bench expr_eval tune_bench)
    xl_program(test_${name} unit/test_${name}.c LIBS clbench_static)
    xl_job(unit.${name} LABELS unit DRIVER none
        COMMAND test_${name})
endforeach()

# Result files against each other, and the statistics of it.
foreach(name compare compare_noise)
    xl_program(test_${name} unit/test_${name}.c LIBS clbench_static)
    xl_job(unit.${name} LABELS unit DRIVER none
        COMMAND test_${name})
endforeach()

# Pipelines and traces, as arithmetic and as text.
foreach(name pipeline trace)
    xl_program(test_${name} unit/test_${name}.c LIBS clbench_static)
    xl_job(unit.${name} LABELS unit DRIVER none
        COMMAND test_${name})
endforeach()

# What is concluded from the curves of groups and of chains.
xl_program(test_curves unit/test_curves.c)
xl_job(unit.curves LABELS unit DRIVER none COMMAND test_curves)

xl_program(test_pipeline_run unit/test_pipeline_run.c LIBS clbench_static)
xl_job(stub.pipeline_run LABELS stub DRIVER stub
    COMMAND test_pipeline_run)

# Programs for a machine that the driver does not build for: texts and logs.
xl_program(test_rebuild unit/test_rebuild.c)
xl_job(unit.rebuild LABELS unit DRIVER none COMMAND test_rebuild)

# Memory on the chip: what is concluded from curves.
xl_program(test_onchip unit/test_onchip.c)
xl_job(unit.onchip LABELS unit DRIVER none COMMAND test_onchip)

# Tiles, waves and records of groups.
xl_program(test_split_view unit/test_split_view.c LIBS clbench_static)
xl_job(unit.split_view LABELS unit DRIVER none
    COMMAND test_split_view)

# What of a language model fits where, and how fast at most.
xl_program(test_plan unit/test_plan.c LIBS clbench_static)
xl_job(unit.plan LABELS unit DRIVER none COMMAND test_plan)
if(UNIX)
    set(plan ${CMAKE_CURRENT_SOURCE_DIR}/plan.sh $<TARGET_FILE:clbench>)
    xl_job(unit.plan_user LABELS unit DRIVER none
        COMMAND ${plan} ${SCRATCH}/plan_user ${XL_PYTHON})
    xl_job(slow.plan LABELS device slow DRIVER pocl
        COMMAND ${plan} ${SCRATCH}/plan ${XL_PYTHON} measure)
    set_property(TEST unit.plan_user slow.plan APPEND PROPERTY
        FAIL_REGULAR_EXPRESSION "FAILED: ")
endif()

# Pictures of a report: by their numbers, and as a browser reads them.
xl_program(test_figures unit/test_figures.c unit/figure_document.c
    LIBS clbench_static)
xl_job(unit.figures LABELS unit DRIVER none COMMAND test_figures)
if(XL_PYTHON)
    xl_job(unit.figures_svg LABELS unit DRIVER none
        COMMAND ${XL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/unit/check_svg.py
            ${SCRATCH}/figures $<TARGET_FILE:test_figures> written*)
endif()

# Probes of single operations: what they conclude, and on drivers.
xl_program(test_operations unit/test_operations.c)
xl_job(unit.operations LABELS unit DRIVER none
    COMMAND test_operations)

xl_program(test_turn unit/test_turn.c)
xl_job(unit.turn LABELS unit DRIVER none COMMAND test_turn)

# Conclusions from times of transfers.
xl_program(test_transfer unit/test_transfer.c)
xl_job(unit.transfer LABELS unit DRIVER none COMMAND test_transfer)

xl_program(test_mma_plans unit/test_mma_plans.c)
xl_job(unit.mma_plans LABELS unit DRIVER none
    COMMAND test_mma_plans)

xl_program(test_wgmma unit/test_wgmma.c LIBS clbench_static)
xl_job(unit.wgmma LABELS unit DRIVER none COMMAND test_wgmma)

xl_program(test_plans_cpu unit/test_plans_cpu.c)
xl_job(unit.plans_cpu LABELS unit DRIVER none
    COMMAND test_plans_cpu)

xl_program(test_gemm_trials unit/test_gemm_trials.c)
xl_job(unit.gemm_trials LABELS unit DRIVER none
    COMMAND test_gemm_trials)

# Rounds of the peers, where there are processes to be disturbed by.
if(UNIX)
    xl_program(test_peers unit/test_peers.c simulated_clock.c
        ${PROJECT_SOURCE_DIR}/bench/peers/rounds.c LIBS clbench_static)
    xl_job(unit.peers LABELS unit DRIVER none
        COMMAND test_peers)
endif()

# Levels of memory and rings through it, without any.
xl_program(test_levels unit/test_levels.c)
xl_job(unit.levels LABELS unit DRIVER none COMMAND test_levels)

# The peer in Python, where it can be shown without PyTorch.
if(UNIX AND XL_PYTHON)
    xl_job(unit.torch_peer LABELS unit DRIVER none
        COMMAND ${XL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/unit/test_torch_peer.py)
    xl_job(device.torch_peer LABELS device DRIVER pocl
        COMMAND ${XL_PYTHON} ${PROJECT_SOURCE_DIR}/bench/peers/torch_peer.py
            --library $<TARGET_FILE:crosslane> --self-test)
endif()

# Typed graphs of expressions, and what is refused.
foreach(name expr_graph expr_algebra expr_wrong)
    xl_program(test_${name} unit/test_${name}.c unit/expr_bind.c)
    xl_job(unit.${name} LABELS unit DRIVER none
        COMMAND test_${name})
endforeach()

# Texts of generated kernels.
xl_program(test_expr_emit unit/test_expr_emit.c expr_batch.c)
xl_job(unit.expr_emit LABELS unit DRIVER none
    COMMAND test_expr_emit)
xl_program(test_expr_tiles unit/test_expr_tiles.c expr_batch.c)
xl_job(unit.expr_tiles LABELS unit DRIVER none
    COMMAND test_expr_tiles)

# Fusion, by name and at random, run on the host.
xl_program(test_expr_fuse unit/test_expr_fuse.c unit/expr_bind.c
    unit/expr_model.c unit/expr_wild.c)
xl_job(unit.expr_fuse LABELS unit DRIVER none
    COMMAND test_expr_fuse)

# Readings of devices: trees of files, and a library under a vendor's name.
add_library(xl_fake_nvml MODULE fake_nvml.c)
set_target_properties(xl_fake_nvml PROPERTIES PREFIX lib OUTPUT_NAME nvidia-ml
    SUFFIX .so.1 C_VISIBILITY_PRESET default
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/nvml)
target_link_libraries(xl_fake_nvml PRIVATE xl_warnings)
if(UNIX)
    xl_program(test_telemetry unit/test_telemetry.c simulated_clock.c
        LIBS clbench_static)
    add_dependencies(test_telemetry xl_fake_nvml)
    target_compile_definitions(test_telemetry PRIVATE
        XL_FAKE_NVML_LIBRARY="$<TARGET_FILE:xl_fake_nvml>")
    xl_job(stub.telemetry LABELS stub DRIVER stub
        COMMAND test_telemetry)
    xl_job(stub.top LABELS stub DRIVER stub
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/top.sh $<TARGET_FILE:clbench>
            ${SCRATCH}/top ${XL_PYTHON} ${CMAKE_BINARY_DIR}/nvml
            ${ICD}/pocl)
    set_property(TEST stub.top APPEND PROPERTY
        FAIL_REGULAR_EXPRESSION "FAILED: ")
endif()

# -- stub: the real loader, our driver ---------------------------------------
foreach(name limits vendors identify errors)
    xl_program(test_${name} unit/test_${name}.c LIBS clbench_static)
    xl_job(stub.${name} LABELS stub DRIVER stub
        COMMAND test_${name})
endforeach()
xl_program(test_expr_run unit/test_expr_run.c)
xl_job(stub.expr_run LABELS stub DRIVER stub
    COMMAND test_expr_run)
xl_program(test_epilogue_text unit/test_epilogue.c expr_batch.c)
xl_job(stub.epilogue LABELS stub DRIVER stub
    COMMAND test_epilogue_text)
# The tuner's search, first without a device.
xl_program(test_tune unit/test_tune.c)
xl_job(stub.tune LABELS stub DRIVER stub COMMAND test_tune stub_*)
xl_job(device.tune LABELS device DRIVER pocl
    COMMAND test_tune device_*)

# Programs for a machine that the driver does not build for: the whole way.
xl_program(test_rebuild_run unit/test_rebuild_run.c)
xl_job(stub.rebuild LABELS stub DRIVER stub
    COMMAND test_rebuild_run)

# A figure of the product itself: not of a build with sanitizers.
if(NOT XL_SANITIZE)
    xl_program(test_overhead unit/test_overhead.c)
    xl_job(stub.overhead LABELS stub DRIVER stub
        COMMAND test_overhead)
    xl_program(test_expr_cost unit/test_expr_cost.c)
    xl_job(stub.expr_cost LABELS stub DRIVER stub
        COMMAND test_expr_cost)
endif()

# Several devices, so that a name can be ambiguous; and none.
xl_program(test_input unit/test_input.c)
target_compile_definitions(test_input PRIVATE _XOPEN_SOURCE=700)
set(at ${CMAKE_CURRENT_SOURCE_DIR}/stub/devices)
xl_job(stub.input LABELS stub DRIVER stub COMMAND test_input
    ENV XL_STUB_DEVICE=${at}/h200.txt,${at}/mi300x.txt,${at}/pocl.txt)
xl_job(stub.no_driver LABELS stub DRIVER none
    COMMAND test_input no_driver)

# Convolutions: plans, and what is refused.
xl_program(test_conv unit/test_conv.c)
xl_job(unit.conv LABELS unit DRIVER none COMMAND test_conv)
xl_program(test_conv_input unit/test_conv_input.c)
xl_job(stub.conv_input LABELS stub DRIVER stub
    COMMAND test_conv_input)

# A filter that runs no test fails: proved with one that does not exist.
add_test(NAME unit.empty_filter COMMAND test_base no_such_test)
xl_timeout(unit.empty_filter)
set_tests_properties(unit.empty_filter PROPERTIES LABELS unit
    WILL_FAIL ON FAIL_REGULAR_EXPRESSION "\\[==========\\] 0 test")

# -- device: real drivers, named ---------------------------------------------
# Where building kernels is most of the time: some drivers build twice where
# binaries are kept (CP-10), so no cache there.
set(uncached XL_CACHE_DIR=off)

xl_program(test_small ops/test_small.c LIBS clbench_static)
xl_program(test_variants ops/test_variants.c LIBS clbench_static)
foreach(driver pocl rusticl)
    xl_job(device.variants.${driver} LABELS device DRIVER ${driver}
        COMMAND test_variants ENV ${uncached})
    xl_job(slow.variants.${driver} LABELS device slow DRIVER ${driver}
        COMMAND test_variants ENV XL_TEST_FULL=1 ${uncached})
endforeach()

# Rings through memory, and the probes that walk them.
xl_program(test_chase ops/test_chase.c)
foreach(driver pocl rusticl)
    xl_job(device.chase.${driver} LABELS device DRIVER ${driver}
        COMMAND test_chase *link* ENV ${uncached})
endforeach()
xl_job(stub.chase LABELS stub DRIVER stub
    COMMAND test_chase wrong_walks_teach_nothing)
xl_job(slow.chase.pocl LABELS device slow DRIVER pocl
    COMMAND test_chase)
xl_job(slow.chase.rusticl LABELS device slow DRIVER rusticl
    COMMAND test_chase addresses_reach_somewhere)

# The matrix engine, emulated.
xl_program(test_mma ops/test_mma.c LIBS clbench_static)
xl_job(device.mma LABELS device DRIVER pocl
    COMMAND test_mma case_table
    ENV ${uncached})
xl_job(slow.mma LABELS device slow DRIVER pocl
    COMMAND test_mma every_tile ENV ${uncached})
xl_job(full.mma LABELS device full DRIVER pocl COMMAND test_mma
    ENV XL_TEST_FULL=1 ${uncached})
xl_program(test_mma_shim ops/test_mma_shim.c)
foreach(driver pocl rusticl)
    xl_job(device.mma_shim.${driver} LABELS device DRIVER ${driver}
        COMMAND test_mma_shim ENV ${uncached})
endforeach()

# One wrong element of many.
xl_program(test_whole unit/test_whole.c LIBS clbench_static)
xl_job(unit.whole LABELS unit DRIVER none COMMAND test_whole)

# Drivers that lie, about time above all.
xl_program(test_lies ops/test_lies.c simulated_clock.c)
xl_job(stub.lies LABELS stub DRIVER stub COMMAND test_lies)
xl_program(test_lies_real ops/test_lies_real.c)
xl_job(device.lies LABELS device DRIVER pocl
    COMMAND test_lies_real
    ENV OPENCL_LAYERS=$<TARGET_FILE:xl_fault_layer>
        XL_LAYER_ANSWERS=${CMAKE_CURRENT_SOURCE_DIR}/fault/little_memory.txt)

xl_program(test_probe_operations ops/test_probe_operations.c)
xl_job(device.probe_operations LABELS device DRIVER rusticl
    COMMAND test_probe_operations results* ENV ${uncached})
xl_job(device.probe_lies LABELS device DRIVER pocl
    COMMAND test_probe_operations lies*)
foreach(driver pocl rusticl)
    xl_job(slow.probe_operations.${driver} LABELS device slow
        DRIVER ${driver} COMMAND test_probe_operations
        ENV XL_TEST_FULL=1)
endforeach()

# A CPU that passes for a GPU with local memory of its own: banks and cliffs
# are looked for, and what comes back is right.
xl_job(slow.probe_onchip LABELS device slow DRIVER pocl
    COMMAND clbench probe local occupancy constant image --quick
    ENV ${uncached} OPENCL_LAYERS=$<TARGET_FILE:xl_fault_layer>
        XL_LAYER_ANSWERS=${CMAKE_CURRENT_SOURCE_DIR}/fault/own_local.txt)
set_property(TEST slow.probe_onchip APPEND PROPERTY
    FAIL_REGULAR_EXPRESSION "the host's")

# Groups, chains and rungs: probes on real drivers.
xl_program(test_probe_groups ops/test_probe_groups.c)
xl_job(device.probe_groups.pocl LABELS device DRIVER pocl
    COMMAND test_probe_groups ENV ${uncached})
xl_job(slow.probe_groups.rusticl LABELS device slow DRIVER rusticl
    COMMAND test_probe_groups ENV ${uncached})

# Groups that record their unit, and a page from a device's facts alone.
xl_program(test_watch ops/test_watch.c)
xl_job(stub.watch LABELS stub DRIVER stub
    COMMAND test_watch stub_*)
xl_job(device.watch.pocl LABELS device DRIVER pocl
    COMMAND test_watch threads_do_their_pieces)
xl_job(device.watch.rusticl LABELS device DRIVER rusticl
    COMMAND test_watch unit_unknown)
xl_job(stub.split_view LABELS stub DRIVER stub
    COMMAND clbench split gemm 2049 --tile 256x128)
set_tests_properties(stub.split_view PROPERTIES PASS_REGULAR_EXPRESSION
    "153 in all; useful area 83.7%.*2 on 132 units.*21 of 132 places; fill 58%")

# Tiles for devices with many registers.
xl_program(test_simt ops/test_simt.c LIBS clbench_static)
xl_job(slow.simt LABELS device slow DRIVER pocl
    COMMAND test_simt ENV ${uncached})

# Products in parts: plans, then by emulated matrix instructions.
xl_program(test_split_plans unit/test_split_plans.c)
xl_job(stub.split_plans LABELS stub DRIVER stub
    COMMAND test_split_plans)
xl_program(test_split ops/test_split.c LIBS clbench_static)
xl_job(device.split.pocl LABELS device DRIVER pocl
    COMMAND test_split not_finite ENV ${uncached})
foreach(driver pocl rusticl)
    xl_job(slow.split.${driver} LABELS device slow DRIVER ${driver}
        COMMAND test_split ENV XL_TEST_FULL=1 ${uncached})
endforeach()

# A queue as an application uses it beside the library.
xl_program(test_queue ops/test_queue.c)
foreach(driver pocl rusticl)
    xl_job(device.queue.${driver} LABELS device DRIVER ${driver}
        COMMAND test_queue)
endforeach()

# Epilogues in every variant that takes one.
xl_program(test_epilogue ops/test_epilogue.c ops/epilogue_case.c)
xl_job(device.epilogue.rusticl LABELS device DRIVER rusticl
    COMMAND test_epilogue ENV ${uncached})
xl_job(slow.epilogue.pocl LABELS device slow DRIVER pocl
    COMMAND test_epilogue ENV ${uncached})
foreach(driver pocl rusticl)
    xl_job(full.epilogue.${driver} LABELS device full DRIVER ${driver}
        COMMAND test_epilogue ENV XL_TEST_FULL=1 ${uncached})
endforeach()

# Expressions, likewise.

# Named and random ones; XL_TEST_SEED replays one.
set(parts ops/expr_case.c ops/expr_compare.c ops/expr_host.c
    ops/expr_host_reduce.c ops/expr_spelled.c)
xl_program(test_expr ops/test_expr.c ops/expr_leaves.c ops/expr_random.c
    ops/expr_writer.c ${parts})
xl_program(test_expr_calls ops/test_expr_calls.c ${parts})
foreach(driver pocl rusticl)
    xl_job(device.expr_calls.${driver} LABELS device DRIVER ${driver}
        COMMAND test_expr_calls)
    xl_job(device.expr.${driver} LABELS device DRIVER ${driver}
        COMMAND test_expr ENV ${uncached})
    xl_job(full.expr.${driver} LABELS device full DRIVER ${driver}
        COMMAND test_expr ENV XL_TEST_FULL=1 ${uncached})
endforeach()

# And what their self-check notices.
xl_program(test_expr_trial ops/test_expr_trial.c)
xl_job(device.expr_trial LABELS device DRIVER pocl
    COMMAND test_expr_trial)

# Generated kernels, one operation at a time.
xl_program(test_expr_math ops/test_expr_math.c expr_batch.c)
foreach(driver pocl rusticl)
    xl_job(slow.expr_math.${driver} LABELS device slow DRIVER ${driver}
        COMMAND test_expr_math ENV ${uncached})
endforeach()

# Operands that lie along other loops than results.
xl_program(test_expr_turned ops/test_expr_turned.c)
foreach(driver pocl rusticl)
    xl_job(slow.expr_turned.${driver} LABELS device slow DRIVER ${driver}
        COMMAND test_expr_turned ENV ${uncached})
    xl_job(full.expr_turned.${driver} LABELS device full DRIVER ${driver}
        COMMAND test_expr_turned
        ENV XL_TEST_FULL=1 ${uncached})
endforeach()

# Operands of GEMM copied as lines along k.
xl_program(test_gemm_turn ops/test_gemm_turn.c)
xl_job(device.gemm_turn.rusticl LABELS device DRIVER rusticl
    COMMAND test_gemm_turn)
xl_job(slow.gemm_turn.pocl LABELS device slow DRIVER pocl
    COMMAND test_gemm_turn)

# Batches, groups and gradients of GEMM, and what it refuses.
xl_program(test_gemm_calls ops/test_gemm_calls.c)
foreach(driver pocl rusticl)
    xl_job(device.gemm_calls.${driver} LABELS device DRIVER ${driver}
        COMMAND test_gemm_calls)
endforeach()

# Reductions of every type and size, and of data made to be hard.
xl_program(test_expr_reduce unit/test_expr_reduce.c)
foreach(driver pocl rusticl)
    xl_job(slow.expr_reduce.${driver} LABELS device slow DRIVER ${driver}
        COMMAND test_expr_reduce ENV ${uncached})
    xl_job(full.expr_reduce.${driver} LABELS device full DRIVER ${driver}
        COMMAND test_expr_reduce
        ENV XL_TEST_FULL=1 ${uncached})
endforeach()

# A real driver made small: results are still right.
foreach(size small one_item)
    xl_job(device.shrunk.${size} LABELS device DRIVER pocl
        COMMAND test_small
        ENV OPENCL_LAYERS=$<TARGET_FILE:xl_fault_layer>
            XL_LAYER_ANSWERS=${CMAKE_CURRENT_SOURCE_DIR}/fault/${size}.txt)
endforeach()

# A real CPU whose vectors are said to be narrower: tiles follow.
foreach(width 4 8)
    set(labels device)
    if(width EQUAL 4)
        list(APPEND labels slow)
    endif()
    xl_job(device.vectors.${width} LABELS ${labels} DRIVER pocl
        COMMAND test_variants gemm_cpu
        ENV OPENCL_LAYERS=$<TARGET_FILE:xl_fault_layer>
            XL_LAYER_ANSWERS=${CMAKE_CURRENT_SOURCE_DIR}/fault/vector${width}.txt)
endforeach()

# Transfers, with little memory: as the device is, between two of them, and as
# one whose maps copy.
xl_program(test_transfers ops/test_transfers.c)
set(layer OPENCL_LAYERS=$<TARGET_FILE:xl_fault_layer>
    XL_LAYER_ANSWERS=${CMAKE_CURRENT_SOURCE_DIR}/fault/little_memory.txt)
xl_job(device.transfers.pocl LABELS device DRIVER pocl
    COMMAND test_transfers ENV ${layer})
xl_job(slow.transfers.rusticl LABELS device slow DRIVER rusticl
    COMMAND test_transfers ENV ${layer})
xl_job(device.transfers.two LABELS device DRIVER pocl
    COMMAND test_transfers devices_*
    ENV ${layer} "POCL_DEVICES=pthread basic")
xl_job(device.transfers.copied LABELS device DRIVER pocl
    COMMAND test_transfers own_* ENV ${layer} XL_LAYER_COPIED_MAPS=1)
xl_job(slow.transfers.faults LABELS device slow DRIVER pocl
    COMMAND test_transfers failed_* ENV ${layer} XL_LAYER_COPIED_MAPS=1)

# And made to fail, call by call.
xl_program(test_faults ops/test_faults.c LIBS clbench_static)
xl_job(slow.faults LABELS device slow DRIVER pocl
    COMMAND test_faults ENV OPENCL_LAYERS=$<TARGET_FILE:xl_fault_layer>)

# clbench as its user sees it: its arguments; on drivers, what it measures
# (minutes on a busy machine).
if(UNIX)
    set(cli ${CMAKE_CURRENT_SOURCE_DIR}/scripts/cli_)
    function(xl_cli_job name script)
        xl_job(${name} ${ARGN} COMMAND ${cli}${script}.sh
            $<TARGET_FILE:clbench> ${SCRATCH}/folder_${name}
            ${PROJECT_SOURCE_DIR} ${XL_PYTHON} ${ICD}/none)
        set_property(TEST ${name} APPEND PROPERTY
            FAIL_REGULAR_EXPRESSION "FAILED: ")
    endfunction()
    xl_cli_job(stub.cli_arguments arguments LABELS stub DRIVER stub)
    foreach(driver pocl rusticl)
        xl_cli_job(device.cli.${driver} measure LABELS device slow
            DRIVER ${driver})
        xl_cli_job(device.cli_split.${driver} split LABELS device slow
            DRIVER ${driver} ENV XL_CACHE_DIR=${SCRATCH}/device.cli.${driver})
        set_property(TEST device.cli_split.${driver} APPEND PROPERTY
            DEPENDS device.cli.${driver})
    endforeach()
endif()

# The case table of expressions: the everyday subset as it is fused; all of it,
# and one kernel per operation, take minutes to build.
foreach(driver pocl rusticl)
    xl_job(device.expr_cases.${driver} LABELS device DRIVER ${driver}

        COMMAND clbench verify --variant expr_fused --quick
        ENV ${uncached})
    foreach(variant fused unfused)
        xl_job(slow.expr_${variant}.${driver} LABELS device slow
            DRIVER ${driver}
            COMMAND clbench verify --variant expr_${variant} ENV ${uncached})
    endforeach()
endforeach()

# Chains of stages, each result checked against the host.
foreach(driver pocl rusticl)
    xl_job(slow.pipeline.${driver} LABELS device slow DRIVER ${driver}
        COMMAND clbench pipeline 3x70x24 --quick
            --stages qk,softmax,pv)
    xl_job(slow.pipeline_linear.${driver} LABELS device slow DRIVER ${driver}
        COMMAND clbench pipeline 300x70x40 --quick
            --stages linear,gelu --dtype bf16 --chunks 3 --buffers 1)
endforeach()

# Limiters that were planted are named: those that the driver's device can
# show. Rates are measured, so another program on the machine may disturb it:
# a wrong name is in the table and no failure.
foreach(driver pocl rusticl)
    xl_job(slow.diagnosis.${driver} LABELS device slow DRIVER ${driver}
        COMMAND clbench probe diagnosis --quick
        ENV ${uncached})
endforeach()

# What a run writes beside its tables, as other programs read it.
if(UNIX AND XL_PYTHON)
    xl_job(device.report LABELS device DRIVER pocl
        COMMAND ${XL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/report.py
            $<TARGET_FILE:clbench> ${SCRATCH}/report
            ${CMAKE_CURRENT_SOURCE_DIR}/interrupt.py)
endif()

# The HTML page in a browser.
if(UNIX AND XL_PYTHON)
    find_program(XL_CHROMIUM NAMES chromium chromium-browser google-chrome)
    xl_job(unit.page LABELS unit DRIVER none
        COMMAND ${XL_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/page.py
            $<TARGET_FILE:clbench> ${SCRATCH}/page "${XL_CHROMIUM}")
    set_tests_properties(unit.page PROPERTIES
        SKIP_REGULAR_EXPRESSION "SKIPPED:")
endif()

# Kernels that lie, through clbench.
if(UNIX AND XL_PYTHON)
    xl_job(slow.lies LABELS device slow DRIVER pocl
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lies.sh $<TARGET_FILE:clbench>
            ${SCRATCH}/lies ${PROJECT_SOURCE_DIR} ${XL_PYTHON})
    set_property(TEST slow.lies APPEND PROPERTY
        FAIL_REGULAR_EXPRESSION "FAILED: ")
endif()

# The doctor among bad drivers, one of which hangs for seconds.
if(UNIX)
    xl_job(device.doctor LABELS device DRIVER pocl
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/doctor.sh $<TARGET_FILE:clbench>
            ${SCRATCH}/doctor ${CMAKE_C_COMPILER} ${XL_PYTHON} ${ICD}/pocl
            ${ICD}/rusticl ${ICD}/stub
            ${CMAKE_CURRENT_SOURCE_DIR}/stub/devices/h200.txt)
    set_property(TEST device.doctor APPEND PROPERTY
        FAIL_REGULAR_EXPRESSION "FAILED: ")
endif()

# The tuner among bad candidates. One hangs for as long as a search takes.
if(UNIX)
    xl_job(device.tune_cli LABELS device slow DRIVER pocl
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tune.sh $<TARGET_FILE:clbench>
            ${SCRATCH}/tune ${PROJECT_SOURCE_DIR} ${XL_PYTHON})
    set_property(TEST device.tune_cli APPEND PROPERTY
        FAIL_REGULAR_EXPRESSION "FAILED: ")
endif()

# An application outside the tree, against what is installed.
xl_job(device.consumer LABELS device DRIVER pocl
    COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
        -DBUILD_DIR=${CMAKE_BINARY_DIR} -DSCRATCH=${SCRATCH}/consumer
        -DCC=${CMAKE_C_COMPILER} -DCXX=${XL_CXX}
        -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/run.cmake)

# -- slow --------------------------------------------------------------------
# A simulator that sees races, uninitialised values and bad API calls. Without
# optimisation, since it does not know one of the optimiser's instructions.
find_program(XL_OCLGRIND NAMES oclgrind)
if(XL_OCLGRIND OR XL_REQUIRE_TOOLS)
    foreach(program small expr_turned)
        xl_job(slow.oclgrind.${program} LABELS slow DRIVER none
            COMMAND ${XL_OCLGRIND} --data-races --uninitialized --check-api
                --build-options -cl-opt-disable
                $<TARGET_FILE:test_${program}>)
        set_property(TEST slow.oclgrind.${program} APPEND PROPERTY
            FAIL_REGULAR_EXPRESSION "data race;Uninitialized value"
            "Invalid (read|write);OCLGRIND FATAL;Oclgrind -")
    endforeach()
endif()

# Any bytes in a cache file's place, as the text of an expression, and as tuned
# sets.
foreach(target store expr tune)
    xl_job(slow.fuzz_${target} LABELS slow DRIVER none
        COMMAND ${XL_SH} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run.sh ${target}
            "${XL_CLANG_AMD}" ${PROJECT_SOURCE_DIR} ${SCRATCH}/fuzz_${target})
    set_tests_properties(slow.fuzz_${target} PROPERTIES
        SKIP_REGULAR_EXPRESSION "SKIPPED:")
endforeach()

# Two more runtimes, fetched by pip: other compilers, for real. What cannot be
# fetched is skipped, and said.
foreach(runtime intel pocl)
    xl_job(slow.variants.pip_${runtime} LABELS slow DRIVER none
        COMMAND ${XL_SH} ${CMAKE_CURRENT_SOURCE_DIR}/runtimes.sh ${runtime}
            ${CMAKE_BINARY_DIR}/runtimes $<TARGET_FILE:test_variants>)
    set_tests_properties(slow.variants.pip_${runtime} PROPERTIES
        SKIP_REGULAR_EXPRESSION "SKIPPED:"
        RESOURCE_LOCK runtime_${runtime})
endforeach()
