import sinter as np
fs = 100
t = np.arange(0, 1, 1/fs)
signal = np.sin(2*np.pi*5*t) + 0.5*np.sin(2*np.pi*20*t)
spectrum = np.fft.rfft(signal)
freqs = np.fft.rfftfreq(len(signal), 1/fs)
power = np.abs(spectrum)**2
top = np.argsort(power)[::-1][:2]
print(freqs[top])
print(np.round(power[top], 6))
low = spectrum * (freqs < 10)
filtered = np.fft.irfft(low)
print(np.abs(filtered - np.sin(2*np.pi*5*t)).max() < 1e-12)
print(spectrum[5].imag)
print(np.fft.fft(np.arange(4.)))
