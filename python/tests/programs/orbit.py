import sinter as np
# Kepler orbit with leapfrog
G, M = 1.0, 1.0
pos = np.array([1.0, 0.0])
vel = np.array([0.0, 0.8])
dt = 0.01
energies = []
for step in range(500):
    r = np.linalg.norm(pos)
    acc = -G * M * pos / r**3
    vel += 0.5 * dt * acc
    pos += dt * vel
    r = np.linalg.norm(pos)
    acc = -G * M * pos / r**3
    vel += 0.5 * dt * acc
    if step % 100 == 0:
        energies.append(0.5 * vel @ vel - G * M / np.linalg.norm(pos))
energies = np.array(energies)
print("energies:", energies.round(6))
print(f"drift {np.ptp(energies):.2e}, final {pos[0]:.4f} {pos[1]:.4f}")
