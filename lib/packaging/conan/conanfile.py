# SPDX-License-Identifier: Apache-2.0
"""Conan 2: builds the libraries of the tree that this file lies in."""
import pathlib

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir
from conan.tools.gnu import PkgConfigDeps

required_conan_version = ">=2.0"


class CrosslaneConan(ConanFile):
    name = "crosslane"
    version = "0.1.0"
    description = "OpenCL compute library for every vendor's device"
    license = "Apache-2.0"
    topics = ("opencl", "gpu", "blas", "convolution", "attention")
    package_type = "library"
    languages = "C"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": True, "fPIC": True}
    implements = ["auto_shared_fpic"]

    def export_sources(self):
        tree = pathlib.Path(self.recipe_folder).resolve().parents[2]
        for pattern in ("CMakeLists.txt", "LICENSE", "cl/*", "include/*",
                        "lib/*"):
            copy(self, pattern, tree, self.export_sources_folder,
                 excludes=("*/__pycache__/*",))

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # Public headers include OpenCL's.
        self.requires("opencl-headers/[>=2023.04.17]", transitive_headers=True)
        self.requires("opencl-icd-loader/[>=2023.04.17]",
                      transitive_headers=True, transitive_libs=True)
        self.requires("jansson/[>=2.13 <3]")
        self.requires("xxhash/[>=0.8 <1]")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.22]")
        if not self.conf.get("tools.gnu:pkg_config", check_type=str):
            self.tool_requires("pkgconf/[>=2.0]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_TESTING"] = False
        toolchain.cache_variables["XL_PROGRAMS"] = False
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        # CMakeDeps and PkgConfigDeps of a consumer write these themselves.
        for folder in ("lib/cmake", "lib/pkgconfig", "share"):
            rmdir(self, pathlib.Path(self.package_folder, folder))
        copy(self, "LICENSE", self.source_folder,
             pathlib.Path(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "crosslane")
        library = self.cpp_info.components["library"]
        library.libs = ["crosslane"]
        library.requires = ["opencl-headers::opencl-headers",
                            "opencl-icd-loader::opencl-icd-loader",
                            "jansson::jansson", "xxhash::xxhash"]
        library.set_property("pkg_config_name", "crosslane")
        library.set_property("cmake_target_name", "crosslane::crosslane")
        measure = self.cpp_info.components["measure"]
        measure.libs = ["crosslane-measure"]
        measure.requires = ["library"]
        measure.set_property("pkg_config_name", "crosslane-measure")
        measure.set_property("cmake_target_name", "crosslane::measure")
        if not self.options.shared:
            library.set_property("cmake_target_aliases",
                                 ["crosslane::crosslane_static"])
            if self.settings.os == "Windows":
                library.libs = ["crosslane_static"]
                library.defines = ["XL_STATIC"]
            else:
                library.system_libs = ["pthread", "dl", "m"]
