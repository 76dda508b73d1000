"""Networks in PyTorch that no package provides: a decoder with its cache (GPT-2's sizes), a small detector like YOLO, a U-Net and a vocoder like HiFi-GAN."""
import math

import torch
from torch import nn


class Block(nn.Module):
    """A decoder's layer on new tokens, with the keys and values of the tokens before."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, past, mask):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.before_attention(x)).split(width, dim=2)
        q, k, v = (t.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        k, v = torch.cat((past[:, 0], k), dim=2), torch.cat((past[:, 1], v), dim=2)
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads)
        mixed = torch.softmax(scores + mask, dim=-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.down(nn.functional.gelu(self.up(self.before_mlp(x)), approximate="tanh")), torch.stack((k, v), dim=1)


class Decoder(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, vocabulary=50257, positions=1024):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)

    def forward(self, ids, past):
        """ids (batch, tokens); past (batch, layers, 2, heads, tokens before, width of a head) -> logits of the last token, past with the new tokens."""
        tokens, before = ids.shape[1], past.shape[4]
        x = self.token(ids) + self.position(torch.arange(before, before + tokens))
        at = torch.arange(before + tokens)
        mask = torch.where(at.unsqueeze(0) > (torch.arange(tokens) + before).unsqueeze(1), -1e9, 0.0)
        kept = []
        for number, block in enumerate(self.blocks):
            x, both = block(x, past[:, number], mask)
            kept.append(both)
        return self.last(x[:, -1]) @ self.token.weight.T, torch.stack(kept, dim=1)


def conv(channels, filters, taps=1, stride=1):
    return nn.Sequential(nn.Conv2d(channels, filters, taps, stride, taps // 2, bias=False), nn.BatchNorm2d(filters), nn.SiLU())


class Stage(nn.Module):
    """Sends half of the channels through residual blocks, the other half past them."""

    def __init__(self, channels, filters, depth, residual=True):
        super().__init__()
        half = filters // 2
        self.through, self.past, self.out = conv(channels, half), conv(channels, half), conv(filters, filters)
        self.blocks = nn.ModuleList(nn.Sequential(conv(half, half), conv(half, half, 3)) for _ in range(depth))
        self.residual = residual

    def forward(self, x):
        y = self.through(x)
        for block in self.blocks:
            y = y + block(y) if self.residual else block(y)
        return self.out(torch.cat((y, self.past(x)), dim=1))


class Pyramid(nn.Module):
    """Maxima over windows of 5, 9 and 13."""

    def __init__(self, channels):
        super().__init__()
        self.narrow, self.out = conv(channels, channels // 2), conv(2 * channels, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.narrow(x)
        a = self.pool(x)
        b = self.pool(a)
        return self.out(torch.cat((x, a, b, self.pool(b)), dim=1))


class Detector(nn.Module):
    def __init__(self, classes=80, width=32):
        super().__init__()
        w = width
        self.stem = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), Stage(2 * w, 2 * w, 1))
        self.third = nn.Sequential(conv(2 * w, 4 * w, 3, 2), Stage(4 * w, 4 * w, 2))
        self.fourth = nn.Sequential(conv(4 * w, 8 * w, 3, 2), Stage(8 * w, 8 * w, 3))
        self.fifth = nn.Sequential(conv(8 * w, 16 * w, 3, 2), Stage(16 * w, 16 * w, 1), Pyramid(16 * w))
        self.down5, self.down4 = conv(16 * w, 8 * w), conv(8 * w, 4 * w)
        self.up4, self.up3 = Stage(16 * w, 8 * w, 1, False), Stage(8 * w, 4 * w, 1, False)
        self.next4, self.next5 = conv(4 * w, 4 * w, 3, 2), conv(8 * w, 8 * w, 3, 2)
        self.out4, self.out5 = Stage(8 * w, 8 * w, 1, False), Stage(16 * w, 16 * w, 1, False)
        self.heads = nn.ModuleList(nn.Conv2d(f * w, 3 * (5 + classes), 1) for f in (4, 8, 16))
        self.classes = classes

    def forward(self, x):
        """(batch, 3, rows, columns), multiples of 32 -> (batch, boxes, 5 + classes): centre and size in cells, objectness, class scores."""
        third = self.third(self.stem(x))
        fourth = self.fourth(third)
        p5 = self.down5(self.fifth(fourth))
        p4 = self.down4(self.up4(torch.cat((nn.functional.interpolate(p5, scale_factor=2.0, mode="nearest"), fourth), dim=1)))
        p3 = self.up3(torch.cat((nn.functional.interpolate(p4, scale_factor=2.0, mode="nearest"), third), dim=1))
        n4 = self.out4(torch.cat((self.next4(p3), p4), dim=1))
        n5 = self.out5(torch.cat((self.next5(n4), p5), dim=1))
        found = []
        for head, level in zip(self.heads, (p3, n4, n5)):
            y = head(level)
            batch, _, rows, columns = y.shape
            y = torch.sigmoid(y.view(batch, 3, 5 + self.classes, rows, columns).permute(0, 1, 3, 4, 2))
            place, size, rest = y.split((2, 2, self.classes + 1), dim=4)
            found.append(torch.cat((place * 2 - 0.5, (size * 2) ** 2, rest), dim=4).reshape(batch, -1, 5 + self.classes))
        return torch.cat(found, dim=1)


def twice(channels, filters):
    layers = (nn.Conv2d(channels, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU())
    return nn.Sequential(*layers, nn.Conv2d(filters, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU())


class UNet(nn.Module):
    """Halves by pools and doubles by transposed convolutions, concatenated with the activations of the way down."""

    def __init__(self, widths=(32, 64, 128, 256), classes=2):
        super().__init__()
        self.down = nn.ModuleList(twice(before, width) for before, width in zip((3, *widths), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, 2) for width in widths[-2::-1])
        self.beside = nn.ModuleList(twice(2 * width, width) for width in widths[-2::-1])
        self.last = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for layer in self.down[:-1]:
            kept.append(layer(x))
            x = nn.functional.max_pool2d(kept[-1], 2)
        x = self.down[-1](x)
        for up, beside in zip(self.up, self.beside):
            x = beside(torch.cat((kept.pop(), up(x)), dim=1))
        return self.last(x)


class Residuals(nn.Module):
    def __init__(self, width, taps, dilations=(1, 3, 5)):
        super().__init__()
        self.apart = nn.ModuleList(nn.Conv1d(width, width, taps, dilation=step, padding=(taps - 1) * step // 2) for step in dilations)
        self.close = nn.ModuleList(nn.Conv1d(width, width, taps, padding=taps // 2) for _ in dilations)

    def forward(self, x):
        for apart, close in zip(self.apart, self.close):
            x = x + close(nn.functional.leaky_relu(apart(nn.functional.leaky_relu(x, 0.1)), 0.1))
        return x


class Vocoder(nn.Module):
    """A spectrogram (batch, bands, frames) -> (batch, 1, 256 * frames) of sound."""

    def __init__(self, bands=80, width=128, ups=((16, 8), (16, 8), (4, 2), (4, 2))):
        super().__init__()
        self.first = nn.Conv1d(bands, width, 7, padding=3)
        self.up = nn.ModuleList(nn.ConvTranspose1d(width >> k, width >> (k + 1), taps, stride, padding=(taps - stride) // 2) for k, (taps, stride) in enumerate(ups))
        self.mixed = nn.ModuleList(nn.ModuleList(Residuals(width >> (k + 1), taps) for taps in (3, 7, 11)) for k in range(len(ups)))
        self.last = nn.Conv1d(width >> len(ups), 1, 7, padding=3)

    def forward(self, x):
        x = self.first(x)
        for up, mixed in zip(self.up, self.mixed):
            x = up(nn.functional.leaky_relu(x, 0.1))
            x = sum(each(x) for each in mixed) / len(mixed)
        return torch.tanh(self.last(nn.functional.leaky_relu(x)))
