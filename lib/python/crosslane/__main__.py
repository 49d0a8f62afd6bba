# SPDX-License-Identifier: Apache-2.0
"""python3 -m crosslane: lists the devices and checks the best one."""
from . import devices, verify

for device in devices():
    print(device)
print(f"{verify()} random cases agree with NumPy on device 0")
