import { chromium } from "playwright-core";
const b = await chromium.launch({executablePath:"/usr/bin/chromium",args:["--no-sandbox","--disable-gpu"]});
const p = await b.newPage({viewport:{width:1280,height:1000},colorScheme:"dark"});
p.on("console",m=>console.log("console",m.type(),m.text()));
await p.goto("http://127.0.0.1:8801/boards/rig:arm64-1");
await p.waitForFunction(()=>document.querySelector('[data-field=power]').textContent!=="…",null,{timeout:60000});
console.log("state", await p.textContent('.board-state'));
if(process.argv[2]==='boot') await p.getByRole('button',{name:'Boot',exact:true}).click();
const t0=Date.now();
for (let i=0;i<25;i++){ await p.waitForTimeout(3000);
 const work=await p.textContent('[data-field=work]'), use=await p.textContent('[data-field=use]'), power=await p.textContent('[data-field=power]'), last=await p.textContent('[data-field=last]');
 console.log(((Date.now()-t0)/1000).toFixed(0), power,"|",use,"|",work,"|",last);
 if(work||i==4) await p.screenshot({path:`/tmp/srv/shots/${process.argv[2]}-${i}.png`});
 if(i>6 && use==="free") break; }
await p.screenshot({path:`/tmp/srv/shots/boot-end.png`,fullPage:true});
await b.close();
