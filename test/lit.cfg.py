# Configuration of the lit suite; lit.site.cfg.py, which CMake writes, loads it.
import os
import lit.formats

config.name = "timerl"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".trl", ".test"]
config.excludes = ["Inputs", "unit", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
path = [config.timerl_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
