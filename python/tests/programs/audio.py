import sinter as np
sr = 8000
t = np.linspace(0, 0.05, int(sr * 0.05), endpoint=False)
tone = 0.6 * np.sin(2 * np.pi * 440 * t) + 0.3 * np.sin(2 * np.pi * 880 * t)
env = np.minimum(1, np.minimum(t / 0.01, (t[-1] - t) / 0.01)).clip(0)
sig = tone * env
pcm = np.int16(np.clip(sig * 32767, -32768, 32767))
print(pcm.dtype, pcm[:5], pcm.max(), pcm.min())
rms = np.sqrt(np.mean(sig ** 2))
print("rms %.5f dB %.3f" % (rms, 20 * np.log10(rms)))
frames = np.lib.stride_tricks.sliding_window_view(sig, 128)[::64] * np.hamming(128)
spec = np.abs(np.fft.rfft(frames, axis=1))
freqs = np.fft.rfftfreq(128, 1 / sr)
print(spec.shape, freqs[spec.argmax(axis=1)])
zc = np.sum(np.diff(np.signbit(tone).astype(int)) != 0)
print("crossings", zc)
echo = np.zeros(len(sig) + 200)
echo[:len(sig)] += sig
echo[200:] += 0.5 * sig
print(np.abs(echo).max().round(5), np.convolve(sig, np.ones(5) / 5, mode='same')[100:104].round(6))
mu = 255
comp = np.sign(sig) * np.log1p(mu * np.abs(sig)) / np.log1p(mu)
q = np.round((comp + 1) / 2 * mu).astype(np.uint8)
print(q[:10], np.unique(q).size)
